/** A request as code. It never contains the key, which comes from an environment variable. */
export const LANGUAGES = ['curl', 'Python', 'R', 'JavaScript'] as const;
export type Language = (typeof LANGUAGES)[number];

export interface Wanted {
  readonly url: string;
  readonly accept: string;
}

const JSON_TYPE = 'application/json';

export function writeSnippet(language: Language, { url, accept }: Wanted): string {
  const isJson = accept === JSON_TYPE;
  switch (language) {
    case 'curl':
      return `curl -H "apikey: $CORKBOARD_KEY"${isJson ? '' : ` -H ${shell(`accept: ${accept}`)}`} ${shell(url)}`;
    case 'Python':
      return [
        'import os',
        'import requests',
        '',
        'response = requests.get(',
        `    ${JSON.stringify(url)},`,
        `    headers={"apikey": os.environ["CORKBOARD_KEY"]${isJson ? '' : `, "accept": ${JSON.stringify(accept)}`}},`,
        ')',
        'response.raise_for_status()',
        `data = response.${isJson ? 'json()' : 'text'}`,
      ].join('\n');
    case 'R':
      return [
        'library(httr2)',
        '',
        `data <- request(${JSON.stringify(url)}) |>`,
        `  req_headers(apikey = Sys.getenv("CORKBOARD_KEY")${isJson ? '' : `, accept = ${JSON.stringify(accept)}`}) |>`,
        '  req_perform() |>',
        `  resp_body_${isJson ? 'json' : 'string'}()`,
      ].join('\n');
    case 'JavaScript':
      return [
        `const response = await fetch(${JSON.stringify(url)}, {`,
        `  headers: { apikey: process.env.CORKBOARD_KEY${isJson ? '' : `, accept: ${JSON.stringify(accept)}`} },`,
        '});',
        'if (!response.ok) throw new Error(await response.text());',
        `const data = await response.${isJson ? 'json' : 'text'}();`,
      ].join('\n');
  }
}

function shell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
