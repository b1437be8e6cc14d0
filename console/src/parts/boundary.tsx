/** Limits errors of rendering or loading to the page where they occur. */
import { Component, type ReactNode } from 'react';
import { Failure } from './states.tsx';

export class Boundary extends Component<
  { readonly children: ReactNode },
  { readonly error: Error | undefined }
> {
  override state = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error: error instanceof Error ? error : new Error(String(error)) };
  }

  override render() {
    const { error } = this.state;
    return error === undefined ? (
      this.props.children
    ) : (
      <Failure error={error} onRetry={() => location.reload()} />
    );
  }
}
