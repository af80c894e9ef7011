/**
 * The arithmetic of a table that is longer than a browser can make an element. Offsets are pixels of the whole table;
 * the scrollbar moves over an element of at most `MAX_HEIGHT`, so one pixel of it may stand for several of the table.
 */

export const ROW_HEIGHT = 28;
/** Browsers stop between 17 and 33 million pixels. */
export const MAX_HEIGHT = 8_000_000;
/** At most so many rows are in the DOM. */
export const MOST_ROWS = 64;

export interface Geometry {
  count: number;
  /** Height of the part that shows rows. */
  view: number;
}

/** Of the element that makes the scrollbar. */
export const scrollHeight = ({ count }: Geometry) => Math.min(count * ROW_HEIGHT, MAX_HEIGHT);

export const isScaled = ({ count }: Geometry) => count * ROW_HEIGHT > MAX_HEIGHT;

/** The largest offset: the last row at the bottom. */
export const maxOffset = ({ count, view }: Geometry) => Math.max(0, count * ROW_HEIGHT - view);

export const clampOffset = (offset: number, geometry: Geometry) => Math.min(Math.max(0, offset), maxOffset(geometry));

export function toOffset(scrollTop: number, geometry: Geometry): number {
  if (!isScaled(geometry)) return clampOffset(scrollTop, geometry);
  const most = scrollHeight(geometry) - geometry.view;
  return most <= 0 ? 0 : clampOffset((scrollTop / most) * maxOffset(geometry), geometry);
}

export function toScrollTop(offset: number, geometry: Geometry): number {
  if (!isScaled(geometry)) return clampOffset(offset, geometry);
  const most = maxOffset(geometry);
  return most <= 0 ? 0 : (clampOffset(offset, geometry) / most) * (scrollHeight(geometry) - geometry.view);
}

export interface Window {
  /** The first row that is drawn, and the one after the last. */
  first: number;
  end: number;
  /** How far the rows are moved up, in pixels. */
  shift: number;
}

export function visibleRows(offset: number, geometry: Geometry): Window {
  const at = clampOffset(offset, geometry);
  const first = Math.floor(at / ROW_HEIGHT);
  const needed = Math.min(MOST_ROWS, Math.ceil(geometry.view / ROW_HEIGHT) + 1);
  return { first, end: Math.min(geometry.count, first + needed), shift: at - first * ROW_HEIGHT };
}

/** The offset that shows this row, moving as little as possible. */
export function revealRow(index: number, offset: number, geometry: Geometry): number {
  const top = index * ROW_HEIGHT;
  if (top < offset) return clampOffset(top, geometry);
  if (top + ROW_HEIGHT > offset + geometry.view) return clampOffset(top + ROW_HEIGHT - geometry.view, geometry);
  return clampOffset(offset, geometry);
}
