"""Processes without a network: each attempt to reach it fails and is recorded.

Python's own attempts are seen by an audit hook in every Python process. Those of native code are
seen by a small library that is loaded before all others, where a C compiler is at hand.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ClosedNetwork", "close_network"]

_HOOK = """
import os, sys

LOG = {log!r}
SEEN = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr",
        "socket.sendto", "socket.sendmsg")
LOCAL = (None, "", "127.0.0.1", "::1")  # a server looks up where it listens

def closed(event, arguments):
    if event not in SEEN or (event in SEEN[:1] + SEEN[4:] and not isinstance(arguments[1], tuple)):
        return
    if event == "socket.getaddrinfo" and arguments[0] in LOCAL:
        return
    with open(LOG, "a", encoding="utf-8") as log:
        log.write(f"python {{event}} {{arguments[-1 if event == 'socket.connect' else 0]!r}}\\n")
    raise OSError(101, "the network is closed")

sys.addaudithook(closed)
"""
_NATIVE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void record(const char *call, const char *name) {
    char line[512];
    int size = snprintf(line, sizeof line, "native %s %.400s\n", call, name ? name : "");
    int log = open(LOG, O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (log >= 0) { if (write(log, line, size) < 0) {} close(log); }
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                struct addrinfo **found) {
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!node || !strcmp(node, "127.0.0.1") || !strcmp(node, "::1")) {
        if (!real) real = dlsym(RTLD_NEXT, "getaddrinfo");
        return real(node, service, hints, found);
    }
    record("getaddrinfo", node);
    return EAI_FAIL;
}

struct hostent *gethostbyname(const char *name) {
    record("gethostbyname", name);
    h_errno = NO_RECOVERY;
    return NULL;
}

static int is_remote(const struct sockaddr *address) {
    return address && (address->sa_family == AF_INET || address->sa_family == AF_INET6);
}

/* Datagrams need no connection: a resolver of its own may send them. */
ssize_t sendto(int file, const void *data, size_t size, int flags, const struct sockaddr *address,
               socklen_t length) {
    static ssize_t (*real)(int, const void *, size_t, int, const struct sockaddr *, socklen_t);
    if (is_remote(address)) {
        record("sendto", "");
        errno = ENETUNREACH;
        return -1;
    }
    if (!real) real = dlsym(RTLD_NEXT, "sendto");
    return real(file, data, size, flags, address, length);
}

ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
    static ssize_t (*real)(int, const struct msghdr *, int);
    if (is_remote(message->msg_name)) {
        record("sendmsg", "");
        errno = ENETUNREACH;
        return -1;
    }
    if (!real) real = dlsym(RTLD_NEXT, "sendmsg");
    return real(file, message, flags);
}

int connect(int file, const struct sockaddr *address, socklen_t length) {
    static int (*real)(int, const struct sockaddr *, socklen_t);
    if (is_remote(address)) {
        record("connect", "");
        errno = ENETUNREACH;
        return -1;
    }
    if (!real) real = (int (*)(int, const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");
    return real(file, address, length);
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedNetwork:
    """How processes are started without a network, and what they tried."""

    environment: dict[str, str]
    """Variables of the processes."""
    log: Path
    is_native: bool
    """Whether attempts of native code are seen."""

    def attempts(self) -> list[str]:
        """Return every attempt, in order."""
        return self.log.read_text("utf-8").splitlines() if self.log.exists() else []


def close_network(folder: Path) -> ClosedNetwork:
    """Return how to start processes without a network.

    Args:
        folder: An empty folder for the hook and the log.
    """
    log = folder / "attempts.log"
    (folder / "sitecustomize.py").write_text(_HOOK.format(log=str(log)), "utf-8")
    environment = {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}
    compiler = shutil.which("gcc") or shutil.which("cc")
    is_native = sys.platform == "linux" and compiler is not None
    if is_native and compiler is not None:
        source, library = folder / "closed.c", folder / "closed.so"
        source.write_text(_NATIVE, "utf-8")
        define = f'-DLOG="{log}"'
        words = [compiler, "-shared", "-fPIC", define, str(source), "-o", str(library), "-ldl"]
        subprocess.run(words, check=True)
        environment["LD_PRELOAD"] = str(library)
    return ClosedNetwork(environment=environment, log=log, is_native=is_native)
