// The dialog of the page: questions, forms, and errors of a form while it stays open.

import { $, make } from "./elements.js";

/**
 * Show a form in the dialog; return whether it was submitted.
 * @param {object} form
 * @param {string} form.title heading
 * @param {string} form.yes text of the button that submits
 * @param {Array} form.content elements of the form
 * @param {Function} [form.submit] work; while it fails, the dialog stays open and shows the error
 * @param {boolean} [form.isDangerous] whether the button warns
 */
export function openForm({ title, yes, content, submit, isDangerous = false }) {
  const dialog = $("dialog");
  const form = dialog.querySelector("form");
  $("dialog-title").textContent = title;
  $("dialog-yes").textContent = yes;
  $("dialog-yes").disabled = false; // the request of another form may have opened this one
  $("dialog-yes").classList.toggle("danger", isDangerous);
  $("dialog-body").replaceChildren(...content);
  showProblem("");
  dialog.returnValue = "no";
  form.onsubmit = async (event) => {
    if (!submit || event.submitter?.value === "no") return;
    event.preventDefault();
    if ($("dialog-yes").disabled) return;
    $("dialog-yes").disabled = true;
    showProblem("");
    try {
      await submit();
      dialog.close("yes");
    } catch (error) {
      showProblem(error.message);
    } finally {
      $("dialog-yes").disabled = false;
    }
  };
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}

function showProblem(text) {
  $("dialog-problem").replaceChildren(...(text ? [make("p", { class: "problem" }, text)] : []));
}
