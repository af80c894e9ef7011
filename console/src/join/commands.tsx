import { CopyButton } from '../components/copy-button';
import './commands.css';

/** Lines for a terminal, with a button that copies them. */
export function Commands({ text }: { text: string }) {
  return (
    <div class="commands">
      <pre class="code-block">{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}
