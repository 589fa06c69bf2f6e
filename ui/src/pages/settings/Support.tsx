import { useMutation } from "@tanstack/react-query";
import { ask, client } from "@/api/client";
import { save } from "@/api/file";
import { Button } from "@/components/Button";
import { describeError } from "@/components/States";
import { useToast } from "@/components/Toast";
import { settingsTexts } from "@/pages/settings/settingsTexts";

const t = settingsTexts.support;

/** What all processes know of themselves, in one file that somebody else can read. */
export function Support() {
  const say = useToast();
  const archive = useMutation({
    mutationFn: async () => {
      const file = await ask(client.POST("/api/v1/support", { parseAs: "blob" }));
      save(
        file as unknown as Blob,
        `nullops-support-${new Date().toISOString().slice(0, 10)}.tar.gz`,
      );
    },
    onSuccess: () => say("done", t.written),
    onError: (error) => say("failed", `${t.unwritten} ${describeError(error).message}`),
  });
  return (
    <section className="col gap-2">
      <h3>{t.title}</h3>
      <p className="t2">{t.what}</p>
      <div className="row">
        <Button busy={archive.isPending ? t.writing : undefined} onClick={() => archive.mutate()}>
          {t.write}
        </Button>
      </div>
    </section>
  );
}
