// Pages that are opened from disk may not start workers. This class runs the script of a worker in
// a hidden frame, so that the search works there too.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      const send = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.scope.postMessage = (data) => setTimeout(send, 0, data);
      this.scope.importScripts = (...addresses) => Promise.all(addresses.map((each) => this.load(each)));
      this.loaded = this.load(address);
    }

    load(address) {
      return new Promise((done, failed) => {
        const script = this.scope.document.createElement("script");
        script.src = String(address);
        script.onload = done;
        script.onerror = failed;
        this.scope.document.head.append(script);
      });
    }

    postMessage(data) {
      const { scope } = this;
      this.loaded.then(() => scope.dispatchEvent(new scope.MessageEvent("message", { data })));
    }

    terminate() {
      this.scope.frameElement.remove();
    }
  };
}
