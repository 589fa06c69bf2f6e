package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nullops/nullops/plugins/packaging"
)

// imageNames are the images of a release. deploy/Dockerfile describes the same two.
func imageNames() []string { return []string{"nullops/controlplane", "nullops/agent"} }

// writeImages writes, for each platform, one file that 'docker load' reads, and an OCI layout with
// all platforms, for registries.
func (r *release) writeImages(context.Context) error {
	indexes := map[string]v1.ImageIndex{}
	for _, repository := range imageNames() {
		indexes[repository] = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	}
	for _, p := range r.serverPlatforms() {
		loadable := map[string]v1.Image{}
		for _, repository := range imageNames() {
			image, err := r.makeImage(repository, p)
			if err != nil {
				return err
			}
			loadable[repository] = image
			indexes[repository] = mutate.AppendManifests(indexes[repository], mutate.IndexAddendum{
				Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: p.os,
					Architecture: p.arch}}})
		}
		file := fmt.Sprintf("nullops-images-%s-%s-%s.tar", r.version, p.os, p.arch)
		if err := r.writeLoadable(file, loadable); err != nil {
			return fmt.Errorf("write %s: %w", file, err)
		}
	}
	return r.writeLayout(indexes)
}

// savedImage is one entry of manifest.json in what 'docker load' reads.
type savedImage struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// writeLoadable writes images as 'docker save' does, in the order of their names. The library
// writes them in another order each time.
func (r *release) writeLoadable(file string, images map[string]v1.Image) error {
	var saved []savedImage
	blobs := map[string][]byte{}
	for _, repository := range slices.Sorted(maps.Keys(images)) {
		one := savedImage{RepoTags: []string{repository + ":" + r.version}}
		config, err := images[repository].RawConfigFile()
		if err != nil {
			return err
		}
		id, err := images[repository].ConfigName()
		if err != nil {
			return err
		}
		one.Config = id.Hex + ".json"
		blobs[one.Config] = config
		layers, err := images[repository].Layers()
		if err != nil {
			return err
		}
		for _, layer := range layers {
			name, err := readLayer(layer, blobs)
			if err != nil {
				return err
			}
			one.Layers = append(one.Layers, name)
		}
		saved = append(saved, one)
	}
	manifest, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	blobs["manifest.json"] = manifest
	var entries []entry
	for name, data := range blobs {
		entries = append(entries, entry{name: name, data: data, mode: 0o644})
	}
	return r.writePlainTar(file, entries)
}

// readLayer adds a layer to the blobs of a file, once.
func readLayer(layer v1.Layer, blobs map[string][]byte) (name string, err error) {
	digest, err := layer.Digest()
	if err != nil {
		return "", err
	}
	name = digest.Hex + ".tar.gz"
	if blobs[name] != nil {
		return name, nil
	}
	packed, err := layer.Compressed()
	if err != nil {
		return "", err
	}
	defer packed.Close()
	blobs[name], err = io.ReadAll(packed)
	return name, err
}

// makeImage makes one image. The program's layer is the same in both, so it is stored once.
func (r *release) makeImage(repository string, p platform) (v1.Image, error) {
	base, err := packaging.StaticBase()
	if err != nil {
		return nil, err
	}
	folder := r.folder(p)
	program := []packaging.File{{Path: "app/nullops", From: filepath.Join(folder, "nullops"),
		Mode: 0o755}}
	if r.key != nil {
		program = append(program, packaging.File{Path: "app/nullops.sig",
			From: filepath.Join(folder, "nullops.sig")})
	}
	config := v1.Config{WorkingDir: "/", Labels: map[string]string{
		"org.opencontainers.image.title":   repository,
		"org.opencontainers.image.version": r.version,
		"org.opencontainers.image.created": r.made.Format(time.RFC3339)}}
	own := []packaging.File{{Path: "app/sidecar", From: filepath.Join(folder, "sidecar"), Mode: 0o755}}
	switch repository {
	case "nullops/agent":
		config.Entrypoint = []string{"/app/nullops", "agent"}
		config.ExposedPorts = map[string]struct{}{"5000/tcp": {}}
	default:
		config.Entrypoint, config.Cmd = []string{"/app/nullops"}, []string{"controlplane"}
		config.User = packaging.Nobody
		config.ExposedPorts = map[string]struct{}{"8080/tcp": {}, "8081/tcp": {}}
		own = []packaging.File{{Path: "state", Dir: true, Mode: 0o755, UID: 65532, GID: 65532}}
	}
	var layers []packaging.Layer
	for _, files := range [][]packaging.File{base, program, own} {
		layer, err := packaging.MakeLayer(filepath.Join(r.scratch, "layers"), files)
		if err != nil {
			return nil, err
		}
		layers = append(layers, layer)
	}
	return packaging.Assemble(packaging.Plan{Layers: layers, Config: config, Created: r.made,
		By: "tools/release", Architecture: p.arch})
}

// writeLayout writes an OCI image layout, packed: index.json names both images with their tags.
func (r *release) writeLayout(indexes map[string]v1.ImageIndex) error {
	folder := filepath.Join(r.scratch, "layout")
	to, err := layout.Write(folder, mutate.IndexMediaType(empty.Index, types.OCIImageIndex))
	if err != nil {
		return err
	}
	for _, repository := range imageNames() {
		err := to.AppendIndex(indexes[repository], layout.WithAnnotations(map[string]string{
			"org.opencontainers.image.ref.name": repository + ":" + r.version}))
		if err != nil {
			return err
		}
	}
	entries, err := listFolder(folder, ".")
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].name = entries[i].name[len("./"):]
	}
	return r.writePlainTar("nullops-images-"+r.version+".oci.tar", entries)
}
