// Names for the parts of the explanation that this page shows.

const LISTED_AT_ONCE = 50;
const choice = new Choice(data);
const { byRow, documentOf, chunkOf, initial } = choice;
const nameOf = (number) => choice.nameOf(number);
const reasonOf = (row, state) => choice.reasonOf(row, state);
