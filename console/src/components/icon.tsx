/**
 * Icons as inline SVG, in the manner of Lucide; the shapes marked * are Lucide's.
 * Lucide: ISC License, Copyright (c) Lucide Contributors; see console/NOTICE.
 */

/** Each string is a path; `o x y r` is a circle. */
const SHAPES = {
  overview: ['M3 3h7v9H3z', 'M14 3h7v5h-7z', 'M14 12h7v9h-7z', 'M3 16h7v5H3z'], // *
  processes: ['M4 6h16', 'M4 12h16', 'M4 18h10', 'o 19 18 1.6'],
  hosts: ['M3 4h18v7H3z', 'M3 13h18v7H3z', 'M7 7.5h.01', 'M7 16.5h.01'], // *
  operations: ['M22 12h-4l-3 9L9 3l-3 9H2'], // *
  events: ['M18 8a6 6 0 0 0-12 0c0 7-3 9-3 9h18s-3-2-3-9', 'M13.7 21a2 2 0 0 1-3.4 0'], // *
  businesses: ['M12 3 2.5 8 12 13l9.5-5z', 'M2.5 12.5 12 17.5l9.5-5', 'M2.5 17 12 22l9.5-5'], // *
  templates: ['M14 2H6a2 2 0 0 0-2 2v16a2 2 0 0 0 2 2h12a2 2 0 0 0 2-2V8z', 'M14 2v6h6', 'M8 13h8', 'M8 17h5'], // *
  admin: ['M12 2 4 5v6c0 5 3.4 9 8 11 4.6-2 8-6 8-11V5z', 'm9 12 2 2 4-4'], // *
  search: ['o 11 11 7', 'm21 21-4.3-4.3'], // *
  start: ['M6 4v16l13-8z'], // *
  stop: ['M6 6h12v12H6z'], // *
  restart: ['M3 12a9 9 0 1 0 3-6.7L3 8', 'M3 3v5h5'], // *
  reload: ['M21 12a9 9 0 0 1-15 6.7L3 16', 'M3 21v-5h5', 'M3 12a9 9 0 0 1 15-6.7L21 8', 'M21 3v5h-5'], // *
  kill: ['M13 2 3 14h9l-1 8 10-12h-9z'], // *
  manage: ['M4 11h16v10H4z', 'M8 11V7a4 4 0 0 1 8 0v4'], // *
  unmanage: ['M4 11h16v10H4z', 'M8 11V7a4 4 0 0 1 7.8-1.2'], // *
  check: ['M20 6 9 17l-5-5'], // *
  edit: ['M17 3a2.8 2.8 0 1 1 4 4L7.5 20.5 2 22l1.5-5.5z'], // *
  close: ['M18 6 6 18', 'm6 6 12 12'], // *
  plus: ['M12 5v14', 'M5 12h14'], // *
  minus: ['M5 12h14'], // *
  warning: ['M10.3 3.9 1.8 18a2 2 0 0 0 1.7 3h17a2 2 0 0 0 1.7-3L13.7 3.9a2 2 0 0 0-3.4 0', 'M12 9v4', 'M12 17h.01'], // *
  error: ['o 12 12 10', 'M12 8v4', 'M12 16h.01'], // *
  info: ['o 12 12 10', 'M12 16v-4', 'M12 8h.01'], // *
  down: ['m6 9 6 6 6-6'], // *
  up: ['m18 15-6-6-6 6'], // *
  right: ['m9 18 6-6-6-6'], // *
  left: ['m15 18-6-6 6-6'], // *
  copy: ['M8 8h12v12H8z', 'M4 16V6a2 2 0 0 1 2-2h10'], // *
  link: ['M10 13a5 5 0 0 0 7.5.5l3-3a5 5 0 0 0-7-7l-1.8 1.7', 'M14 11a5 5 0 0 0-7.5-.5l-3 3a5 5 0 0 0 7 7l1.7-1.7'], // *
  columns: ['M3 4h18v16H3z', 'M9 4v16', 'M15 4v16'], // *
  filter: ['M3 5h18', 'M7 12h10', 'M10 19h4'],
  menu: ['M4 6h16', 'M4 12h16', 'M4 18h16'], // *
  more: ['M12 12h.01', 'M19 12h.01', 'M5 12h.01'], // *
  user: ['M20 21v-2a4 4 0 0 0-4-4H8a4 4 0 0 0-4 4v2', 'o 12 7 4'], // *
  logout: ['M9 21H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2h4', 'm16 17 5-5-5-5', 'M21 12H9'], // *
  sun: [
    'o 12 12 4',
    'M12 2v2',
    'M12 20v2',
    'm4.9 4.9 1.4 1.4',
    'm17.7 17.7 1.4 1.4',
    'M2 12h2',
    'M20 12h2',
    'm6.3 17.7-1.4 1.4',
    'm19.1 4.9-1.4 1.4',
  ], // *
  moon: ['M21 12.8A9 9 0 1 1 11.2 3a7 7 0 0 0 9.8 9.8'], // *
  system: ['M2 4h20v13H2z', 'M8 21h8', 'M12 17v4'], // *
  language: ['o 12 12 10', 'M2 12h20', 'M12 2a15 15 0 0 1 0 20', 'M12 2a15 15 0 0 0 0 20'], // *
  keyboard: ['M2 5h20v14H2z', 'M6 9h.01', 'M10 9h.01', 'M14 9h.01', 'M18 9h.01', 'M6 13h.01', 'M18 13h.01', 'M9 13h6'],
  pause: ['M6 4h4v16H6z', 'M14 4h4v16h-4z'], // *
  download: ['M21 15v4a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-4', 'm7 10 5 5 5-5', 'M12 15V3'], // *
  wrap: ['M3 6h18', 'M3 12h15a3 3 0 0 1 0 6h-4', 'm16 16-2 2 2 2', 'M3 18h7'], // *
  clock: ['o 12 12 10', 'M12 6v6l4 2'], // *
  away: [
    'M2 2l20 20',
    'M8.5 16.5a5 5 0 0 1 7 0',
    'M5 13a10 10 0 0 1 5.2-2.7',
    'M2 8.8a15 15 0 0 1 4.2-2.7',
    'M22 8.8A15 15 0 0 0 11 5',
    'M19 13a10 10 0 0 0-2-1.5',
    'M12 20h.01',
  ], // *
  dot: ['o 12 12 4'],
  ring: ['o 12 12 8'],
  half: ['o 12 12 8', 'M12 4v16'],
  spinner: ['M21 12a9 9 0 1 1-6.2-8.6'], // *
  cross: ['o 12 12 9', 'm15 9-6 6', 'm9 9 6 6'], // *
  tick: ['o 12 12 9', 'm8.5 12 2.5 2.5 4.5-5'], // *
  question: ['o 12 12 9', 'M9.3 9.2a2.8 2.8 0 0 1 5.4.9c0 1.9-2.7 2.4-2.7 3.9', 'M12 17h.01'], // *
  logo: ['M4 6h16', 'M4 12h11', 'M4 18h14', 'o 20 12 1.6'],
} satisfies Record<string, string[]>;

export type IconName = keyof typeof SHAPES;

/** Decoration: the word beside it says what it means. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg
      class={`icon icon-${name}`}
      width={size}
      height={size}
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {SHAPES[name].map(shape => {
        const [mark, x, y, r] = shape.split(' ');
        return mark === 'o' ? <circle key={shape} cx={x} cy={y} r={r} /> : <path key={shape} d={shape} />;
      })}
    </svg>
  );
}
