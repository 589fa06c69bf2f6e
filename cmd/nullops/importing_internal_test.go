package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/pipeline/compose"
)

// What import writes is what apply reads, with the registries that are there
// under their names and the others as documents of their own.
func TestWriteImport(t *testing.T) {
	found, err := compose.Read(t.Context(), []byte(`services:
  db: {image: "postgres:15", expose: ["5432"]}
  web: {image: "registry.example.org:5000/shop/web:1", ports: ["80:8080"], depends_on: [db],
    secrets: [key]}
secrets: {key: {file: ./key}}
`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	err = writeImport(&out, "shop", found, []apiclient.Registry{{Name: "docker-hub",
		Host: "docker.io"}})
	if err != nil {
		t.Fatal(err)
	}
	docs, problems := parseDocuments("shop.yaml", out.Bytes())
	if len(problems) > 0 {
		t.Fatalf("%v\n%s", problems, out.String())
	}
	var all []string
	for _, d := range docs {
		all = append(all, d.String())
	}
	want := "registry registry-example-org-5000,service shop-db,service shop-web,project shop"
	if got := strings.Join(all, ","); got != want {
		t.Errorf("documents are %s, want %s", got, want)
	}
	for _, part := range []string{"registry: docker-hub", "from_env: KEY", "cpu: 1\n",
		"name: shop-web"} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("%q is missing:\n%s", part, out.String())
		}
	}
}
