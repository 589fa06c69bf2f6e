import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useRouter } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ApiError, ask, client, type Me } from "@/api/client";
import { me } from "@/api/queries/common";
import { signInMethods } from "@/api/queries/people";
import { Button } from "@/components/Button";
import { Field } from "@/components/Field";
import { Mark } from "@/components/Glyph";
import { useTitle } from "@/components/Shell";
import { describeError } from "@/components/States";
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
  const [busy, setBusy] = useState(false);
  const [errors, setErrors] = useState<{ user?: string; password?: string }>({});

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (busy) return;
    if (!user || !password) {
      setErrors({
        user: user ? undefined : signInTexts.userMissing,
        password: password ? undefined : signInTexts.passwordMissing,
      });
      return;
    }
    setBusy(true);
    setErrors({});
    try {
      const person = await enter(user, password);
      cache.clear();
      cache.setQueryData(me.queryKey, person);
      const to = ownPath(next);
      // The gate before a deployment is a page of the server's own.
      if (to.startsWith("/gate?")) window.location.assign(to);
      else router.history.push(to);
    } catch (error) {
      setErrors({ password: describeError(error).message });
      setBusy(false);
    }
  };

  return (
    <main className="si">
      <form onSubmit={submit} noValidate>
        <div className="row bm">
          <Mark />
          <span>{texts.product}</span>
        </div>
        <h1>{signInTexts.title(window.location.host)}</h1>
        <Field
          label={signInTexts.user}
          big
          name="user"
          autoComplete="username"
          autoFocus
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
          value={password}
          error={errors.password}
          onChange={(e) => setPassword(e.target.value)}
        />
        <Button look="ink" className="big" type="submit" busy={busy && signInTexts.busy}>
          {signInTexts.submit}
        </Button>
        <Providers next={next} />
        <p className="hint">{signInTexts.forgotten}</p>
      </form>
    </main>
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
async function enter(user: string, password: string): Promise<Me> {
  const post = () => ask(client.POST("/api/v1/sessions", { body: { user, password } }));
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
