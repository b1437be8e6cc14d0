/** How wide a chart may be. */
import { useParentSize } from '@visx/responsive';
import { useState } from 'react';

/** 0 before the frame is known; one that has no room for a moment, as when a page is printed, keeps its chart. */
export function useFrameWidth(debounceTime: number) {
  const { parentRef, width } = useParentSize({ debounceTime });
  const [known, setKnown] = useState(width);
  if (width > 0 && width !== known) setKnown(width);
  return { parentRef, width: known };
}
