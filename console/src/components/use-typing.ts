import { useEffect, useRef, useState } from 'preact/hooks';

/** The text of a field that filters: shown at once, put into the address when typing rests. */
export function useTyping(value: string, settle: (text: string) => void): [string, (text: string) => void] {
  const [typed, setTyped] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const sent = useRef(value);
  // The address changed by other means: back, or a cleared filter.
  useEffect(() => {
    if (value !== sent.current) setTyped(value);
    sent.current = value;
  }, [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  return [
    typed,
    text => {
      setTyped(text);
      clearTimeout(timer.current);
      timer.current = setTimeout(() => {
        sent.current = text.trim();
        settle(text.trim());
      }, 300);
    },
  ];
}
