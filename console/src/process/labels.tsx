import { paths } from '../url/paths';
import '../components/field.css';

/** A label links to all processes that have it. */
export function Labels({ labels }: { labels: Record<string, string> }) {
  return (
    <span class="line labels">
      {Object.entries(labels).map(([key, value]) => (
        <a key={key} class="chip" href={paths.processes({ label: labelTest(key, value) })}>
          <span class="ellipsis">
            {key}={value}
          </span>
        </a>
      ))}
    </span>
  );
}

/** `\` stands before a character that has a meaning in tests of labels. */
export const labelTest = (key: string, value: string) =>
  [key, value].map(part => part.replace(/[\\,=!()\s]/g, '\\$&')).join('=');
