/** On top of all pages of a business: where it is, its name, its views. */
import type { ComponentChildren } from 'preact';
import { useRoute } from 'preact-iso';
import { useData } from '../api/use-data';
import { Tabs } from '../components/tabs';
import { paths } from '../url/paths';
import { businesses } from './api';
import './business.css';
import { t } from './strings';

const TABS = ['processes', 'templates', 'release', 'topology'] as const;

export const useBusiness = () => Number(useRoute().params.business ?? 0);

/** The name of the business, or its number until it is known. */
export function useBusinessName(id: number): string {
  const answer = useData('businesses', businesses);
  return answer.data?.businesses.find(one => one.id === id)?.name || String(id);
}

interface BusinessHeadProps {
  id: number;
  active: (typeof TABS)[number];
  title: ComponentChildren;
  children?: ComponentChildren;
}

export function BusinessHead({ id, active, title, children }: BusinessHeadProps) {
  const words = t();
  const name = useBusinessName(id);
  return (
    <div class="business-head">
      <nav class="crumbs" aria-label={words.businesses}>
        <a href={paths.businesses()}>{words.businesses}</a>
        <span aria-hidden="true">/</span>
        <a href={paths.business(id)}>{name}</a>
      </nav>
      <div class="page-head">
        <h1>{title}</h1>
        {children}
      </div>
      <Tabs
        label={words.views}
        active={active}
        tabs={TABS.map(key => ({
          key,
          label: words.tabs[key],
          href: key === 'processes' ? paths.business(id) : paths.businessView(id, key),
        }))}
      />
    </div>
  );
}
