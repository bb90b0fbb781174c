// Files that were chosen or dropped, with their paths below a dropped folder.

const IS_HIDDEN = /(^|\/)\.|(^|\/)(Thumbs\.db|desktop\.ini)$/i;

const order = new Intl.Collator("en", { numeric: true });

/** Return the files of an input as { name, file }; files of a folder have relative paths. */
export function chosenFiles(list) {
  return visible([...list].map((file) => ({ name: file.webkitRelativePath || file.name, file })));
}

/**
 * Return the dropped files as { name, file }, those of folders too.
 * The entries are taken at once, because the browser empties the event after the handler.
 */
export async function droppedFiles(transfer) {
  const items = [...transfer.items].filter(({ kind }) => kind === "file");
  const entries = items.map((item) => ({ entry: item.webkitGetAsEntry?.(), file: item.getAsFile() }));
  const found = await Promise.all(entries.map(({ entry, file }) => (entry?.isDirectory ? below(entry) : [{ name: file.name, file }])));
  return visible(found.flat());
}

function visible(files) {
  return files.filter(({ name }) => !IS_HIDDEN.test(name)).sort((one, other) => order.compare(one.name, other.name));
}

async function below(folder) {
  const files = [];
  const waiting = [folder];
  while (waiting.length) {
    const entry = waiting.pop();
    if (entry.isFile) files.push({ name: entry.fullPath.replace(/^\//, ""), file: await new Promise((resolve, reject) => entry.file(resolve, reject)) });
    else waiting.push(...(await children(entry)));
  }
  return files;
}

/** Return the entries of a folder; the browser gives at most 100 at once. */
async function children(folder) {
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!part.length) return found;
    found.push(...part);
  }
}
