/** A definition as people read it: what is set, in its sections. */
import type { Definition } from '../api/types';
import { CopyButton } from '../components/copy-button';
import '../components/field.css';
import { count } from '../i18n/format';
import { Labels } from './labels';
import './spec.css';
import { t } from './strings';

/** Sections in the order in which people ask for them. */
const SECTIONS = [
  'control',
  'identity',
  'monitor_policy',
  'alive_monitor_policy',
  'runtime',
  'restart',
  'stop',
  'schedule',
  'resource',
  'warn_report_policy',
  'configmap',
];

export function SpecView({ definition }: { definition: Definition }) {
  const spec = definition.spec as Record<string, unknown>;
  const sections = [
    ...SECTIONS.filter(name => name in spec),
    ...Object.keys(spec).filter(name => !SECTIONS.includes(name)),
  ];
  return (
    <section class="card">
      <div class="card-head">
        <h2>
          {t().hosts} {count(definition.hosts)}
          {definition.spec_version && <span class="muted"> · {t().specVersion(definition.spec_version)}</span>}
        </h2>
        <span class="grow">
          <Labels labels={definition.labels} />
        </span>
        <CopyButton text={JSON.stringify(spec, null, 2)}>JSON</CopyButton>
      </div>
      <div class="card-body spec">
        {sections.map(name => {
          const lines = linesOf(spec[name]);
          if (lines.length === 0) return null;
          return (
            <section key={name} class="stack-tight">
              <h3>{name}</h3>
              <dl class="facts">
                {lines.map(([key, value]) => (
                  <div key={key} class="spec-line">
                    <dt>{key}</dt>
                    <dd>
                      <code>{value}</code>
                    </dd>
                  </div>
                ))}
              </dl>
            </section>
          );
        })}
      </div>
    </section>
  );
}

/** What is not set is left out. */
function linesOf(section: unknown, prefix = ''): [string, string][] {
  if (section === null || section === undefined || section === '') return [];
  if (typeof section !== 'object') return [[prefix, String(section)]];
  return Object.entries(section).flatMap(([key, value]) => linesOf(value, prefix ? `${prefix}.${key}` : key));
}
