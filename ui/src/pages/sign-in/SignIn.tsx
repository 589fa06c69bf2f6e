import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ApiError, ask, client, isCode, type Me, type Schemas } from "@/api/client";
import { getPasskey, knowsPasskeys, passkeyProblem } from "@/api/passkeys";
import { me } from "@/api/queries/common";
import { signInMethods } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Field, Refusal } from "@/components/Field";
import { Mark } from "@/components/Glyph";
import { useTitle } from "@/components/Shell";
import { describeError } from "@/components/States";
import { passkeyTexts } from "@/pages/sign-in/passkeyTexts";
import { signInTexts } from "@/pages/sign-in/signInTexts";
import { texts } from "@/texts";

const route = getRouteApi("/sign-in");

/** Get in, or know why not. */
export function SignIn() {
  useTitle(signInTexts.submit);
  const { next } = route.useSearch();
  const router = useRouter();
  const cache = useQueryClient();
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const [code, setCode] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<{ user?: string; password?: string; code?: string }>({});

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    if (!user || !password || code === "") {
      setErrors({
        user: user ? undefined : signInTexts.userMissing,
        password: password ? undefined : signInTexts.passwordMissing,
        code: code === "" ? signInTexts.codeMissing : undefined,
      });
      return;
    }
    setBusy(true);
    setErrors({});
    try {
      arrive(await enter({ user, password, code }));
    } catch (error) {
      setBusy(false);
      if (code === undefined && isCode(error, "second_factor_required")) setCode("");
      else if (isCode(error, "sign_in_refused") || code === undefined) {
        setCode(undefined);
        setErrors({ password: describeError(error).message });
      } else setErrors({ code: describeError(error).message });
    }
  };
  const arrive = (person: Me) => {
    cache.clear();
    cache.setQueryData(me.queryKey, person);
    const to = ownPath(next);
    // The gate before a deployment is a page of the server's own.
    if (to.startsWith("/gate?")) window.location.assign(to);
    else router.history.push(to);
  };

  return (
    <main className="si">
      <form onSubmit={submit} noValidate>
        <div className="row bm">
          <Mark />
          <span>{texts.product}</span>
        </div>
        <h1>
          {code === undefined ? signInTexts.title(window.location.host) : signInTexts.codeTitle}
        </h1>
        <Field
          label={signInTexts.user}
          big
          name="user"
          autoComplete="username"
          autoFocus={code === undefined}
          readOnly={code !== undefined}
          autoCapitalize="none"
          spellCheck={false}
          value={user}
          error={errors.user}
          onChange={(e) => setUser(e.target.value)}
        />
        <Field
          label={signInTexts.password}
          big
          name="password"
          type="password"
          autoComplete="current-password"
          readOnly={code !== undefined}
          value={password}
          error={errors.password}
          onChange={(e) => setPassword(e.target.value)}
        />
        {code === undefined ? null : (
          <Field
            label={signInTexts.code}
            big
            mono
            name="code"
            autoComplete="one-time-code"
            autoFocus
            autoCapitalize="none"
            spellCheck={false}
            value={code}
            hint={signInTexts.codeHint}
            error={errors.code}
            onChange={(e) => setCode(e.target.value)}
          />
        )}
        <Button look="ink" className="big" type="submit" busy={busy && signInTexts.busy}>
          {code === undefined ? signInTexts.submit : signInTexts.codeSubmit}
        </Button>
        <PasskeyButton arrive={arrive} />
        {code === undefined ? (
          <>
            <Providers next={next} />
            <p className="hint">{signInTexts.forgotten}</p>
          </>
        ) : (
          <Button className="big" onClick={() => setCode(undefined)}>
            {signInTexts.back}
          </Button>
        )}
      </form>
    </main>
  );
}

/** The passkey says whose it is: neither name nor password is needed. */
function PasskeyButton({ arrive }: { arrive: (person: Me) => void }) {
  const { data } = useQuery(signInMethods);
  const [said, setSaid] = useState<string>();
  const [busy, setBusy] = useState(false);
  if (!data?.passkeys || !knowsPasskeys()) return null;
  const enterBy = async () => {
    setBusy(true);
    setSaid(undefined);
    try {
      const question = await ask(client.POST("/api/v1/sign-in/passkey"));
      const body = await getPasskey(question);
      arrive(await ask(client.POST("/api/v1/sign-in/passkey/answer", { body })));
    } catch (error) {
      const problem = passkeyProblem(error);
      setSaid(problem ? passkeyTexts[problem] : describeError(error).message);
      setBusy(false);
    }
  };
  return (
    <>
      <Button className="big" busy={busy && signInTexts.passkeyBusy} onClick={enterBy}>
        {signInTexts.passkey}
      </Button>
      {said ? <Refusal>{said}</Refusal> : null}
    </>
  );
}

/** Others who vouch for people, if there are any. */
function Providers({ next }: { next?: string }) {
  const { data } = useQuery(signInMethods);
  const wanted = next ? `?${new URLSearchParams({ next: ownPath(next) })}` : "";
  return data?.providers.map((one) => (
    <a key={one.url} className="btn big" href={ownPath(one.url) + wanted}>
      {signInTexts.with(one.name)}
    </a>
  ));
}

/** Asks a second time when there was no answer at all: the network may just have changed. */
async function enter(body: Schemas["SessionCreate"]): Promise<Me> {
  const post = () => ask(client.POST("/api/v1/sessions", { body }));
  try {
    return await post();
  } catch (error) {
    if (error instanceof ApiError) throw error;
    await new Promise((resolve) => setTimeout(resolve, 400));
    return post();
  }
}

/** Only a path of this site: a link must not send people elsewhere after they signed in. */
export function ownPath(next: string | undefined): string {
  if (!next?.startsWith("/") || next.startsWith("//") || next.includes("\\")) return "/deployments";
  return next;
}
