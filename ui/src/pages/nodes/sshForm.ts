import { ApiError, type Schemas } from "@/api/client";
import { describeError } from "@/components/States";
import { emptyToUndefined, onlyProblems, toNumber } from "@/forms/formValues";
import { machineTexts } from "@/pages/nodes/machineTexts";

const t = machineTexts.ssh;

/** What the form of a set-up over SSH holds, as it is typed. */
export type SignIn = {
  host: string;
  port: string;
  user: string;
  password: string;
  key: string;
  passphrase: string;
  install: boolean;
  directory: string;
  data: string;
  run: string;
  docker: string;
  subnets: string;
};

export type Where = Schemas["SSHHost"];
export type Found = { at: Where; key: Schemas["SSHHostKey"] };
export type Wrong = Partial<Record<keyof SignIn, string>>;

/** The address of an agent begins with the machine's own, as a rule. */
export const signInAt = (address: string): SignIn => ({
  host: address.slice(0, address.lastIndexOf(":")).replace(/^\[(.*)\]$/, "$1"),
  port: "22",
  user: "root",
  password: "",
  key: "",
  passphrase: "",
  install: true,
  directory: "",
  data: "",
  run: "",
  docker: "",
  subnets: "",
});

export const whereOf = ({ host, port }: SignIn): Where => ({
  host: host.trim(),
  port: toNumber(port) ?? 22,
});

/** The key that was found, unless another machine is meant by now: one is never shown for the other. */
export function keyOf(found: Found | undefined, meant: Where) {
  const same = found?.at.host === meant.host && found.at.port === meant.port;
  return same ? found?.key : undefined;
}

// As the server holds them to it.
const PATH = /^(\/[A-Za-z0-9_][A-Za-z0-9._-]*){1,16}$/;
const RANGE = /^[0-9a-fA-F:.]+\/\d{1,3}$/;

const pathWrong = (text: string) =>
  text.trim() === "" || PATH.test(text.trim()) ? undefined : t.pathWrong;

/** What can be said before a machine is asked. The sign-in itself is needed only once its key is confirmed. */
export function signInProblems(values: SignIn, known: boolean): Wrong {
  const { host, port, user, password, key } = values;
  const number = toNumber(port) ?? 22;
  return onlyProblems({
    host: /^\S+$/.test(host.trim()) ? undefined : t.hostWrong,
    port: number >= 1 && number <= 65_535 ? undefined : t.portWrong,
    user: /^\S+$/.test(user.trim()) ? undefined : t.userWrong,
    password: !known || password || key.trim() ? undefined : t.credentialMissing,
    directory: pathWrong(values.directory),
    data: pathWrong(values.data),
    run: pathWrong(values.run),
    docker: pathWrong(values.docker.trim().replace(/^unix:\/\//, "")),
    subnets:
      values.subnets.trim() === "" || RANGE.test(values.subnets.trim()) ? undefined : t.rangeWrong,
  });
}

/**
 * The request body, with exactly one of password and key. Empty fields are left to the server's
 * defaults.
 */
export function sshOf(values: SignIn, fingerprint: string): Schemas["ProvisionSSH"] {
  const { user, password, key, passphrase } = values;
  const signIn = key.trim()
    ? { private_key: key, passphrase: passphrase || undefined }
    : { password };
  return {
    ...whereOf(values),
    user: user.trim(),
    ...signIn,
    host_key: fingerprint,
    forget: true,
    install_docker: values.install,
    directory: emptyToUndefined(values.directory),
    data: emptyToUndefined(values.data),
    run: emptyToUndefined(values.run),
    docker: socketOf(values.docker),
    subnets: emptyToUndefined(values.subnets),
  };
}

const socketOf = (text: string) => {
  const path = text.trim().replace(/^unix:\/\//, "");
  return path === "" ? undefined : `unix://${path}`;
};

const ofField: Record<string, keyof SignIn> = { private_key: "key" };

/** A refusal at the field it is about, or for the form as a whole. */
export function refusedAt(error: unknown): { wrong: Wrong; whole?: string } {
  if (!error) return { wrong: {} };
  const { message } = describeError(error);
  const told = error instanceof ApiError ? (error.problem.field ?? "") : "";
  // The host's key is no field of its own here, and may be refused too.
  const field = ofField[told] ?? told;
  if (field in signInAt("")) return { wrong: { [field]: message } };
  return { wrong: {}, whole: message };
}
