package kubernetes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Only what is about the helper's registry is read, under any of the names that such files have for
// it, and no error quotes a password.
func TestReadHelperCredentials(t *testing.T) {
	t.Parallel()
	const hub = `{"auths":{"https://index.docker.io/v1/":{"auth":"aHVi"},"r.test":{"auth":"cg=="}}}`
	for name, c := range map[string]struct{ text, image, want, refusal string }{
		"a registry": {hub, "r.test/nullops/agent:1", `{"auths":{"r.test":{"auth":"cg=="}}}`, ""},
		"with a path": {`{"auths":{"https://r.test/nullops":{"auth":"cg=="}}}`,
			"r.test/nullops/agent:1", `{"auths":{"https://r.test/nullops":{"auth":"cg=="}}}`, ""},
		"Docker Hub": {hub, "nullops/agent:1",
			`{"auths":{"https://index.docker.io/v1/":{"auth":"aHVi"}}}`, ""},
		"another": {hub, "o.test/agent:1", "", "no file in "},
		"no JSON": {`{"auths":"hunter2"}`, "r.test/agent:1", "",
			"is not the .dockerconfigjson of a Secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, "pull.json"), []byte(c.text),
				0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readHelperCredentials(folder, c.image)
			if string(got) != c.want || (err != nil) != (c.refusal != "") {
				t.Errorf("it reads %s, %v", got, err)
			}
			if err != nil && (!strings.Contains(err.Error(), c.refusal) ||
				strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("it says %v", err)
			}
		})
	}
}
