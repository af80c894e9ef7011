/** A choice of a few values in one small field. */
import './field.css';

export interface Choice {
  value: string;
  label: string;
}

interface SelectProps {
  label: string;
  value: string;
  choices: Choice[];
  onChange: (value: string) => void;
}

export function Select({ label, value, choices, onChange }: SelectProps) {
  // A value that another person's link or a later server has is shown as it is.
  const known = choices.some(choice => choice.value === value);
  return (
    <select
      class="input input-small select"
      aria-label={label}
      title={label}
      value={value}
      onChange={event => onChange(event.currentTarget.value)}
    >
      {choices.map(choice => (
        <option key={choice.value} value={choice.value}>
          {choice.label}
        </option>
      ))}
      {!known && <option value={value}>{value}</option>}
    </select>
  );
}
