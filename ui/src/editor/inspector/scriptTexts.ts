/** What the inspector says of a script alone. */
export const scriptTexts = {
  source: "Script",
  sourceHint:
    "JavaScript or TypeScript, run on the node without a container, network or files. Ctrl Space completes names.",
  line: (line: number) => `Line ${line}`,
  goTo: (line: number) => `Go to line ${line}`,
  complete: "Names that fit",
  contract: "What the script is given",
  parameters: "Parameters, as JSON",
  parametersHint: "Values may hold references, but none to a secret.",
  secrets: "Secrets, as JSON",
  secretsHint: 'Each has one reference: {"key": "${{ secrets.NAME }}"}.',
  outputs: "Outputs, as JSON Schema",
  outputsHint:
    "Without a schema the outputs are not checked. A property with writeOnly: true is secret.",
  timeout: "Timeout in seconds",
  clock: "The time",
  clocks: { no: "The script cannot read it", yes: "The script may read it" },
  trial: "Test run",
  trialHint: "Calls the script now, on the control plane, with these inputs. Nothing is stored.",
  action: "Function",
  actions: { create: "default", delete: "remove" },
  input: "Recorded input, as JSON",
  inputWrong: "This is not JSON yet.",
  run: "Run",
  running: "Running…",
  passed: (took: string) => `It ended after ${took}.`,
  dropped: (count: number) => `${count} more lines`,
};

/** The types of the contract, to read beside the code. */
export const CONTRACT = `export default async function (input: Input): Promise<{outputs?: object} | void>
export function remove(input: Input): void // undoes it

interface Input {
  parameters: Record<string, any>
  secrets: Record<string, string>   // those declared below
  outputs: Record<string, any>      // its own, in remove
  services: Record<string, {host: string; port?: number}>
  deployment: {id; name; environment; project; domain: string}
  run: {id: string; step: string; attempt: number}
  log(...values: any[]): void
}`;
