// Marks of words that match a question, as the server found them.

import { make } from "./elements.js";

const WORD = /\d+(?:[.,]\d+)+|[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const UNSPACED = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3100-\u312f\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]/u;

const COMMON = new Set("a an and are as at be by did do does for from had has have how in is it its of on or that the this to was were what when where which who why will with".split(" "));

let last = { question: "", forms: {} };

/** Remember the words of a search, to mark them in the reader too. */
export function rememberForms(question, forms) {
  last = { question, forms };
}

/** Return the words of the last search if it had this question, otherwise null. */
export function formsOf(question) {
  return question && last.question === question ? last.forms : null;
}

/** Return the words of a text that have the stem of a word of the question, for a reader without a search before. */
export function formsBySuffix(text, question) {
  const wordsOf = (some) => (some?.match(WORD) ?? []).map((word) => word.toLowerCase());
  const stems = new Map(wordsOf(question).filter((word) => !COMMON.has(word)).map((word) => [stem(word), word]));
  const found = wordsOf(text).filter((word) => stems.has(stem(word)));
  return Object.fromEntries(found.map((word) => [word, [stems.get(stem(word)), null]]));
}

/** Return a word in lower case without common endings. */
const stem = (word) => (word.length > 4 ? word.replace(/(ings?|edly|ed|es|ly|s)$/u, "") : word);

/** Yield the start, end and form of each match in a text. */
function* matches(text, forms) {
  for (const { 0: word, index } of text.matchAll(WORD)) {
    const key = word.toLowerCase();
    if (Object.hasOwn(forms, key)) yield [index, index + word.length, forms[key]];
    else if (UNSPACED.test(word)) yield* pairs(word, index, forms);
  }
}

/** Yield the matches in a word of a script without spaces, whose forms are pairs of letters. */
function* pairs(word, index, forms) {
  for (let at = 0; at + 1 < word.length; at += 1) {
    const key = word.slice(at, at + 2);
    if (Object.hasOwn(forms, key)) {
      yield [index + at, index + at + 2, forms[key]];
      at += 1;
    }
  }
}

/** Return a text as nodes in which the words of the question, and similar words, are marked. */
export function withMarks(text, forms) {
  const nodes = [];
  let done = 0;
  for (const [start, end, [word, similarity]] of matches(text, forms)) {
    const similar = similarity === null ? null : { class: "similar", title: `similar to “${word}” (${similarity})` };
    nodes.push(text.slice(done, start), make("mark", similar, text.slice(start, end)));
    done = end;
  }
  nodes.push(text.slice(done));
  return nodes;
}

/** Return the words of the question in a text, and the similar words with their words. */
export function matchedIn(text, forms) {
  const same = new Set();
  const similar = new Map();
  for (const [start, end, [word, similarity]] of matches(text, forms)) {
    if (similarity === null) same.add(word);
    else similar.set(text.slice(start, end).toLowerCase(), word);
  }
  return { same: [...same], similar: [...similar].filter(([, word]) => !same.has(word)) };
}
