/** Two texts with their differences: beside each other where there is room, else one below the other. */
import { useState } from 'preact/hooks';
import { ErrorBox, Skeleton } from '../components/states';
import { useMedia } from '../theme/use-media';
import './editor.css';
import { useMounted } from './load';
import { t } from './strings';

/** As wide as two columns of code need to be, in px. */
const WIDE = '(min-width: 1100px)';

export function DiffView(props: { before: string; after: string; label: string }) {
  if (props.before === props.after) return <p class="muted">{t().same}</p>;
  return <Different {...props} />;
}

function Different({ before, after, label }: { before: string; after: string; label: string }) {
  const words = t();
  const beside = useMedia(WIDE);
  const [equal, setEqual] = useState(false);
  const { host, handle, error } = useMounted(
    (module, root) => module.mountDiff(root, { before, after, label, beside, equal }),
    [before, after, label, beside, equal],
  );
  return (
    <div class="stack-tight">
      <div class="line diff-head">
        <span class="muted grow">{handle && words.counts(handle.added, handle.removed)}</span>
        <label class="line">
          <input type="checkbox" checked={equal} onChange={event => setEqual(event.currentTarget.checked)} />
          {words.showEqual}
        </label>
      </div>
      <div class="diff" aria-busy={handle === null && error === null}>
        {error ? <ErrorBox error={error} /> : handle === null && <Skeleton lines={4} />}
        <div class="diff-host" ref={host} />
      </div>
    </div>
  );
}
