/** The width of a chart. */
import { useParentSize } from '@visx/responsive';
import { useState } from 'react';

/**
 * The width is 0 until the frame is measured. If the frame has no width for a moment, as when a
 * page is printed, the last width is kept.
 */
export function useFrameWidth(debounceTime: number) {
  const { parentRef, width } = useParentSize({ debounceTime });
  const [known, setKnown] = useState(width);
  if (width > 0 && width !== known) setKnown(width);
  return { parentRef, width: known };
}
