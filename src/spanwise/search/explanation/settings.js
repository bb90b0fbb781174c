// Sliders of the settings of a selection.

/** Slider on a logarithmic scale with a separate position for 0, next to a number field. */
export class Setting {
  /**
   * @param {object} fields slider and number: the input elements
   * @param {object} scale low, high: ends of the scale; digits: 0 for whole numbers; hasZero
   * @param {number} start value at the beginning
   * @param {Function} changed called with each new value
   */
  constructor({ slider, number }, { low, high, digits, hasZero }, start, changed) {
    Object.assign(this, { slider, number, low, high, digits, hasZero, changed });
    this.number.max = high;
    this.slider.addEventListener("input", () => this.set(this.valueAt(Number(this.slider.value))));
    this.number.addEventListener("change", () => this.read());
    this.begin(start);
  }

  /** Show a value that is exactly at the position of the slider from now on. */
  begin(start) {
    this.start = start;
    this.startAt = this.positionOf(start);
    this.show(start);
  }

  valueAt(position) {
    if (position === this.startAt) return this.start;
    if (this.hasZero && position === 0) return 0;
    const value = this.low * (this.high / this.low) ** (position / 100);
    const rounded = Number(value.toPrecision(2));
    return this.digits === 0 ? Math.max(1, Math.round(rounded)) : Math.min(rounded, this.high);
  }

  positionOf(value) {
    if (this.hasZero && value <= 0) return 0;
    const position = Math.round((100 * Math.log(value / this.low)) / Math.log(this.high / this.low));
    return Math.max(this.hasZero ? 1 : 0, Math.min(100, position));
  }

  read() {
    const value = Number(this.number.value);
    const isFine = this.number.value !== "" && value >= (this.hasZero ? 0 : 1) && value <= this.high;
    this.set(isFine ? (this.digits === 0 ? Math.round(value) : value) : this.value);
  }

  set(value) {
    this.show(value);
    this.changed(value);
  }

  show(value) {
    this.value = value;
    this.slider.value = this.positionOf(value);
    this.slider.setAttribute("aria-valuetext", String(value));
    this.number.value = this.digits === 0 ? value : Number(value.toPrecision(3));
  }
}

/** Return the scales of the sliders for the data of an explanation, by name. */
export function scalesOf(data) {
  const most = data.tokens.reduce((sum, tokens) => sum + tokens + data.terms.header, 0);
  return {
    price: { low: 1e-4, high: 10, hasZero: true },
    charge: { low: 5e-4, high: 1, hasZero: true },
    budget: { low: 100, high: Math.max(data.terms.budget, Math.min(200_000, most)), digits: 0 },
  };
}
