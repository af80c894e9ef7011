/** Tabs that are links, because the tab is in the address. */
import './tabs.css';

export interface Tab {
  key: string;
  label: string;
  href: string;
  count?: string;
}

export function Tabs({ tabs, active, label }: { tabs: Tab[]; active: string; label: string }) {
  return (
    <nav class="tabs" aria-label={label}>
      {tabs.map(tab => (
        <a key={tab.key} class="tab" href={tab.href} aria-current={tab.key === active ? 'page' : undefined}>
          {tab.label}
          {tab.count && <span class="tab-count">{tab.count}</span>}
        </a>
      ))}
    </nav>
  );
}
