/** Own settings: how the console looks, own roles, password and logins. */
import { whoAmI } from '../../api/calls';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import '../../components/field.css';
import { Loaded } from '../../components/states';
import { Time } from '../../components/time';
import { type Language, language, setLanguage } from '../../i18n/i18n';
import { keysOn, setKeysOn } from '../../keys/keys';
import { helpOpen } from '../../shell/help';
import { useTitle } from '../../shell/title';
import { setTheme, theme } from '../../theme/theme';
import { Logins } from './logins';
import './me.css';
import { Password } from './password';
import { t } from './strings';

export default function MePage() {
  const words = t();
  useTitle(words.title);
  return (
    <div class="page me">
      <h1>{words.title}</h1>
      <Account />
      <section class="card">
        <h2 class="card-head">{words.looks}</h2>
        <div class="card-body me-rows">
          <Choices<Language>
            label={words.language}
            value={language.value}
            choices={[
              ['en', 'English'],
              ['zh', '中文'],
            ]}
            onChange={setLanguage}
          />
          <Choices
            label={words.theme}
            value={theme.value}
            choices={(['system', 'light', 'dark'] as const).map(one => [one, words.themes[one]])}
            onChange={setTheme}
          />
          <div class="me-row">
            <span class="muted">{words.keys}</span>
            <span class="line">
              <label class="line me-keys">
                <input
                  type="checkbox"
                  checked={keysOn.value}
                  onChange={event => setKeysOn(event.currentTarget.checked)}
                />
                {words.keysOn}
              </label>
              <Button
                size="small"
                kind="quiet"
                icon="keyboard"
                onClick={() => {
                  helpOpen.value = true;
                }}
              >
                {words.keysHelp}
              </Button>
            </span>
          </div>
          <p class="muted">{words.kept}</p>
        </div>
      </section>
      <Password />
      <Logins />
    </div>
  );
}

function Account() {
  const words = t();
  const answer = useData('whoami', whoAmI);
  return (
    <section class="card">
      <h2 class="card-head">{words.account}</h2>
      <div class="card-body">
        <Loaded {...answer}>
          {({ user }) => (
            <dl class="facts">
              <dt>{words.name}</dt>
              <dd>{user?.name}</dd>
              <dt>{words.roles}</dt>
              <dd>
                {(user?.grants ?? []).length === 0
                  ? words.noRoles
                  : (user?.grants ?? []).map(grant => (
                      <div key={JSON.stringify(grant)}>
                        {grant.role}{' '}
                        <span class="muted">
                          {grant.everything
                            ? words.everything
                            : [
                                ...(grant.label ? [grant.label] : []),
                                ...(grant.namespaces.length > 0 ? [words.namespaces(grant.namespaces.join(', '))] : []),
                                ...(grant.businesses.length > 0 ? [words.businesses(grant.businesses.join(', '))] : []),
                              ].join(' · ')}
                        </span>
                      </div>
                    ))}
              </dd>
              {user?.expires_at ? (
                <>
                  <dt>{words.until}</dt>
                  <dd>
                    <Time at={user.expires_at} />
                  </dd>
                </>
              ) : null}
            </dl>
          )}
        </Loaded>
      </div>
    </section>
  );
}

interface ChoicesProps<T extends string> {
  label: string;
  value: T;
  choices: [T, string][];
  onChange: (value: T) => void;
}

function Choices<T extends string>({ label, value, choices, onChange }: ChoicesProps<T>) {
  return (
    <div class="me-row">
      <span class="muted">{label}</span>
      <span class="line" role="group" aria-label={label}>
        {choices.map(([one, word]) => (
          <Button key={one} size="small" pressed={one === value} onClick={() => onChange(one)}>
            {word}
          </Button>
        ))}
      </span>
    </div>
  );
}
