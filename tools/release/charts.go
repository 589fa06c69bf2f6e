package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// writeCharts packs each chart as Helm does, with the release's version. Helm itself would put the
// time of the build into the file.
func (r *release) writeCharts(context.Context) error {
	for _, chart := range []string{"nullops", "nullops-agent"} {
		entries, err := listFolder(filepath.Join(r.root, "deploy", "helm", chart), chart)
		if err != nil {
			return err
		}
		number := strings.TrimPrefix(r.version, "v")
		for i, e := range entries {
			if e.name != chart+"/Chart.yaml" {
				continue
			}
			text, err := os.ReadFile(e.from)
			if err != nil {
				return err
			}
			entries[i].from, entries[i].data = "", setVersions(text, number, r.version)
		}
		if err := r.writeTarball(chart+"-"+number+".tgz", entries); err != nil {
			return err
		}
	}
	return nil
}

var (
	chartVersion = regexp.MustCompile(`(?m)^version: .*$`)
	appVersion   = regexp.MustCompile(`(?m)^appVersion: .*$`)
)

func setVersions(chart []byte, number, version string) []byte {
	chart = chartVersion.ReplaceAll(chart, []byte("version: "+number))
	return appVersion.ReplaceAll(chart, []byte("appVersion: "+version))
}
