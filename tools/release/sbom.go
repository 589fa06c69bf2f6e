package main

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bom is a CycloneDX bill of materials, as much of it as a release has.
type bom struct {
	Format        string      `json:"bomFormat"`
	Specification string      `json:"specVersion"`
	Serial        string      `json:"serialNumber"`
	Version       int         `json:"version"`
	Metadata      bomMetadata `json:"metadata"`
	Components    []component `json:"components"`
}

type bomMetadata struct {
	Timestamp string    `json:"timestamp"`
	Component component `json:"component"`
}

// component is one library, or the product itself.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref,omitempty"`
	Name    string `json:"name"`
	Version string `json:"version"`
	URL     string `json:"purl,omitempty"`
	// Properties hold Go's own hash of a module, which is none of CycloneDX's kinds.
	Properties []property `json:"properties,omitempty"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// writeSBOM lists the Go modules in the program, as the program itself says, and the packages of
// the UI, as its lock file says.
func (r *release) writeSBOM(context.Context) error {
	program := filepath.Join(r.folder(r.serverPlatforms()[0]), "nullops")
	modules, err := goComponents(program)
	if err != nil {
		return err
	}
	packages, err := uiComponents(filepath.Join(r.root, "ui", "package-lock.json"))
	if err != nil {
		return err
	}
	text, err := r.encodeBOM(append(modules, packages...))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "nullops-"+r.version+".cdx.json"), text, 0o644)
}

func (r *release) encodeBOM(components []component) ([]byte, error) {
	// The serial number follows from the content, so that two builds have the same.
	all, err := json.Marshal(components)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(append(all, r.version...))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8
	serial := fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10],
		sum[10:16])
	return json.MarshalIndent(bom{Format: "CycloneDX", Specification: "1.6", Serial: serial,
		Version: 1, Components: components, Metadata: bomMetadata{
			Timestamp: r.made.Format(time.RFC3339),
			Component: component{Type: "application", Ref: "nullops", Name: "nullops",
				Version: r.version}}}, "", " ")
}

func goComponents(program string) (all []component, err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read what is in the program: %w", err)
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		all = append(all, component{Type: "library", Ref: url, Name: m.Path, Version: m.Version, URL: url,
			Properties: []property{{"nullops:gosum", m.Sum}}})
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	url := "pkg:golang/std@" + version
	return append(all, component{Type: "library", Ref: url, Name: "std", Version: version,
		URL: url}), nil
}

// uiComponents are the packages that the UI is built from, without those that only build it.
func uiComponents(lock string) (all []component, err error) {
	text, err := os.ReadFile(lock)
	if err != nil {
		return nil, err
	}
	var read struct {
		Packages map[string]struct {
			Version, Integrity  string
			Dev, Optional, Link bool
		}
	}
	if err := json.Unmarshal(text, &read); err != nil {
		return nil, fmt.Errorf("read %s: %w", lock, err)
	}
	for path, p := range read.Packages {
		i := strings.LastIndex(path, "node_modules/")
		if i < 0 || p.Dev || p.Link {
			continue
		}
		name := path[i+len("node_modules/"):]
		url := "pkg:npm/" + strings.Replace(name, "@", "%40", 1) + "@" + p.Version
		all = append(all, component{Type: "library", Ref: url + "#" + path, Name: name,
			Version: p.Version, URL: url, Properties: []property{{"nullops:integrity", p.Integrity}}})
	}
	slices.SortFunc(all, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })
	return all, nil
}
