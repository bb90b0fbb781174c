// Focus of the views: an opened view gets it; a view that is returned to gives it to the link that was followed.

import { $ } from "./elements.js";

let shown = null; // view and place shown last
const followed = new Map(); // address of the link followed last, by view

const keyOf = (view, state) => `${view} ${state.get("id") ?? state.get("name") ?? ""}`;

/** Move the focus after a view is drawn, unless the same view is drawn again. */
export function focusView(view, state) {
  const key = keyOf(view, state);
  const isSame = shown?.key === key;
  const isFirst = shown === null;
  shown = { view, key };
  if (isSame || isFirst || view === "search" && document.activeElement === $("question")) return;
  const address = followed.get(key);
  const link = address && document.querySelector(`#${view} a[href="${CSS.escape(address)}"]`);
  (link ?? document.querySelector(`#${view} h1:not([hidden])`)).focus({ preventScroll: !link && view === "read" });
}

/** Handle the Escape key, which closes a document or report, and the skip link, which must not change the address. */
export function prepareKeys() {
  for (const title of document.querySelectorAll("main h1")) title.tabIndex = -1;
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("main a[href^='#/']");
    if (link && shown) followed.set(shown.key, link.getAttribute("href"));
  });
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    $("main").focus();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || event.defaultPrevented || $("dialog").open) return;
    document.querySelector("main > section:not([hidden]) .back:not([hidden])")?.click();
  });
}
