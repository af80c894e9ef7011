import { Empty } from '../components/states';
import { t } from '../i18n/common';
import { paths } from '../url/paths';

export function NotFound() {
  return (
    <Empty
      whole
      icon="search"
      title={t().errors.notFound}
      action={<a href={paths.overview()}>{t().errors.toOverview}</a>}
    >
      <code>{location.pathname}</code>
    </Empty>
  );
}
