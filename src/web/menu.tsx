// Acts behind one button.

import type { VNode } from 'preact';
import { useEffect, useRef } from 'preact/hooks';

export interface MenuItem {
  readonly label: string;
  /** A link, or what is done. */
  readonly does: string | (() => void);
  readonly isDangerous?: boolean;
}

/** Escape, a click elsewhere and a choice close it, and the focus is on its button then. */
export function Menu({ label, items }: { readonly label: string; readonly items: readonly MenuItem[] }): VNode {
  const menu = useRef<HTMLDetailsElement>(null);
  function close(): void {
    if (menu.current?.open !== true) return;
    menu.current.open = false;
    menu.current.querySelector('summary')?.focus();
  }
  useEffect(() => {
    const onClick = ({ target }: MouseEvent): void => {
      if (menu.current?.open && !menu.current.contains(target as Node)) menu.current.open = false;
    };
    document.addEventListener('click', onClick);
    return () => document.removeEventListener('click', onClick);
  }, []);
  return (
    <details class="menu" ref={menu} onKeyDown={({ key }) => key === 'Escape' && close()}>
      <summary class="button">{label}</summary>
      <ul>
        {items.map(({ label: item, does, isDangerous = false }) => (
          <li key={item}>
            {typeof does === 'string' ? (
              <a href={does} onClick={close}>
                {item}
              </a>
            ) : (
              <button
                type="button"
                class={isDangerous ? 'danger' : ''}
                onClick={() => {
                  close();
                  does();
                }}
              >
                {item}
              </button>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}
