package main

import (
	"fmt"
	"path/filepath"
	"strings"
)

// measuredSteps is how many plugin steps one run has. The first is not measured:
// it starts while images are looked for and the network is made.
const measuredSteps = 11

// twentySteps is how long the whole pipeline is that is measured from its start.
const twentySteps = 20

// The projects that measurements deploy, next to the example "shop".
const (
	stepsProject   = "bench-steps"
	latencyProject = "bench-latency"
	twentyProject  = "bench-twenty"
	joinedProject  = "bench-joined" // as twentyProject, and each plugin joins the network
	webProject     = "bench-web"
	crowdProject   = "bench-crowd"
)

// writeDocuments defines the trivial plugin in a row, and a lone service that may use
// the whole machine: the example's own limit would be what is measured.
// Paths in documents are seen from the folder that they are in.
func writeDocuments(root, folder string) (string, error) {
	component, err := filepath.Rel(folder,
		filepath.Join(root, "plugins", "testplugin", "component.json"))
	if err != nil {
		return "", fmt.Errorf("find the trivial plugin: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "kind: plugin\nname: trivial\nregistry: local\nimage: test/hostile\n"+
		"tag: 1.0.0\ncomponent_file: %q\n---\n", component)
	writeChain(&b, stepsProject, measuredSteps, "mode: succeed", "")
	b.WriteString("---\n")
	writeChain(&b, latencyProject, measuredSteps, "mode: clock, seconds: 0.5", "")
	b.WriteString("---\n")
	writeChain(&b, twentyProject, twentySteps, "mode: succeed", ", network: false")
	b.WriteString("---\n")
	writeChain(&b, joinedProject, twentySteps, "mode: succeed", "")
	b.WriteString(webDocument)
	b.WriteString(crowdDocument)
	return b.String(), nil
}

// writeChain is a project of trivial plugins in a row.
func writeChain(b *strings.Builder, project string, steps int, parameters, more string) {
	fmt.Fprintf(b, "kind: project\nname: %s\nresources: {cpu: 1, memory_mib: 512}\n"+
		"pipeline:\n  steps:\n", project)
	for i := range steps {
		fmt.Fprintf(b, "    - key: step-%02d\n      position: {x: %d, y: 0}\n", i, 200*i)
		if i > 0 {
			fmt.Fprintf(b, "      needs: [step-%02d]\n", i-1)
		}
		fmt.Fprintf(b, "      plugin: {name: trivial, parameters: {%s}%s}\n", parameters, more)
	}
}

// crowdDocument is a service of about 5 MiB; two hundred of them have to find
// room on a node, so each asks for little.
const crowdDocument = `---
kind: project
name: ` + crowdProject + `
resources: {cpu: 1, memory_mib: 512}
pipeline:
  steps:
    - key: web
      position: {x: 0, y: 0}
      service:
        name: shop-web
        env: {API_URL: "http://nobody:1", GOGC: "50"}
        ports: [{name: http, port: 8080, expose: true}]
        resources: {cpu: 0.03, memory_mib: 16}
        ready: {tcp: {port: 8080}}
`

// webDocument needs no database: the service only looks for it at /healthz, and
// the measurement asks for /bytes/1024.
const webDocument = `---
kind: project
name: ` + webProject + `
resources: {cpu: 2, memory_mib: 512}
pipeline:
  steps:
    - key: web
      position: {x: 0, y: 0}
      service:
        name: shop-api
        env: {DATABASE_URL: "postgres://nobody@127.0.0.1/none", API_TOKEN: unused}
        ports: [{name: http, port: 8080, expose: true}]
        resources: {cpu: 2, memory_mib: 256}
        ready: {tcp: {port: 8080}}
`
