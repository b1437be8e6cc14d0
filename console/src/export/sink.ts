/**
 * The target of an export: a file that the user chooses, written as data arrives, or a download in
 * browsers without a file picker.
 */

export interface Sink {
  write(bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  /** Completes the file. */
  close(): Promise<void>;
  /** Discards everything. */
  abort(): Promise<void>;
}

interface Picker {
  showSaveFilePicker(options: {
    readonly suggestedName: string;
    readonly types: readonly { readonly accept: Readonly<Record<string, readonly string[]>> }[];
  }): Promise<{ createWritable(): Promise<Sink> }>;
}

/** Must be called in the handler of a click. Returns undefined if the user cancels. */
export async function openSink(name: string, mediaType: string): Promise<Sink | undefined> {
  if (!hasPicker(window)) return downloadSink(name, mediaType);
  try {
    const extension = name.slice(name.lastIndexOf('.'));
    const types = [{ accept: { [mediaType]: [extension] } }];
    const handle = await window.showSaveFilePicker({ suggestedName: name, types });
    return await handle.createWritable();
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return undefined;
    throw error;
  }
}

function hasPicker(host: object): host is Picker {
  return 'showSaveFilePicker' in host;
}

/** The browser keeps the bytes, on disk if there are many, and saves them at the end. */
function downloadSink(name: string, type: string): Sink {
  let parts: Blob[] = [];
  return {
    write: async (bytes) => {
      parts.push(new Blob([bytes]));
    },
    close: async () => {
      const url = URL.createObjectURL(new Blob(parts, { type }));
      const link = document.createElement('a');
      link.href = url;
      link.download = name;
      link.click();
      // The download has started by then.
      setTimeout(() => URL.revokeObjectURL(url), 60_000);
    },
    abort: async () => {
      parts = [];
    },
  };
}
