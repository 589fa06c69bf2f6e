package backup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/pipeline"
)

const (
	indexName    = "index"
	databaseName = "database"
	volumeEnding = ".volume"
	// mostIndex bounds the index, which is read as a whole.
	mostIndex = 64 << 20
)

// Folder is a backup with volumes: one sealed file for each volume, one for the database, and an
// index that is sealed too and names every file with its checksum. The index is replaced
// after every file, so that an interrupted backup continues where it was.
type Folder struct {
	path  string
	keys  *seal.Keyring
	index index
}

// index is what a folder holds.
type index struct {
	Build    string     `json:"build"`
	Begun    time.Time  `json:"begun"`
	Chosen   chosen     `json:"chosen"`
	Database storedFile `json:"database,omitzero"`
	// Complete says that everything that was chosen is here.
	Complete    bool                `json:"complete"`
	Deployments []*storedDeployment `json:"deployments"`
}

// chosen is what the backup was started for: who continues it has to mean the same.
type chosen struct {
	Deployments []string `json:"deployments,omitempty"`
	Environment string   `json:"environment,omitempty"`
	Running     bool     `json:"running,omitempty"`
}

func (c chosen) equal(other chosen) bool {
	return slices.Equal(c.Deployments, other.Deployments) && c.Environment == other.Environment &&
		c.Running == other.Running
}

// storedFile is one file of the folder. ID is inside the file, so that no other file can take
// its place; Sum is the SHA-256 of all of it.
type storedFile struct {
	File string `json:"file"`
	ID   string `json:"id"`
	Sum  string `json:"sum"`
	Size int64  `json:"size"`
}

// storedDeployment is a deployment whose volumes are in the folder.
type storedDeployment struct {
	ID          controlplane.DeploymentID `json:"id"`
	Name        string                    `json:"name"`
	Environment string                    `json:"environment"`
	// Complete says that all of its volumes are here, copied at one time.
	Complete bool      `json:"complete"`
	At       time.Time `json:"at,omitzero"`
	// Resume lists services with restart "never" that ran until they were stopped.
	Resume  []pipeline.StepKey `json:"resume,omitempty"`
	Volumes []storedVolume     `json:"volumes"`
}

// storedVolume is one volume. Bytes is what its archive takes.
type storedVolume struct {
	volumeLabel
	storedFile

	Bytes int64 `json:"bytes"`
}

// volumeLabel says whose a volume is. It is the first line inside its file as well.
type volumeLabel struct {
	Deployment controlplane.DeploymentID `json:"deployment"`
	Service    pipeline.StepKey          `json:"service"`
	Volume     string                    `json:"volume"`
}

func (v volumeLabel) name() controlplane.VolumeName {
	return controlplane.VolumeName{Step: v.Service, Name: v.Volume}
}

func describeVolume(v controlplane.VolumeName) string {
	return fmt.Sprintf("volume %s of service %s", v.Name, v.Step)
}

// openForBackup begins a backup in an empty folder, or continues the one that is there.
func openForBackup(path string, keys *seal.Keyring, build string, c chosen) (*Folder, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	f, err := OpenFolder(path, keys)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		entries, err := os.ReadDir(path)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return nil, fmt.Errorf("the folder %s is neither empty nor a backup: name another one", path)
		}
		f = &Folder{path: path, keys: keys, index: index{Build: build, Begun: time.Now(), Chosen: c}}
		return f, f.save()
	case err != nil:
		return nil, err
	case f.index.Complete:
		return nil, fmt.Errorf("the backup in %s is complete: name another folder", path)
	case !f.index.Chosen.equal(c):
		return nil, fmt.Errorf("the backup in %s was started with other options: continue it with the "+
			"same --deployment, --env and --running, or name another folder", path)
	}
	return f, f.removeUnnamed()
}

// OpenFolder opens a backup with volumes. The error is fs.ErrNotExist if there is none.
func OpenFolder(path string, keys *seal.Keyring) (*Folder, error) {
	file, err := os.Open(filepath.Join(path, indexName))
	if err != nil {
		return nil, fmt.Errorf("open the backup: %w", err)
	}
	defer func() { _ = file.Close() }()
	r, err := newReader(indexFile, keys, file)
	if err != nil {
		return nil, fmt.Errorf("the index of the backup in %s: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(r, mostIndex))
	if err != nil {
		return nil, fmt.Errorf("the index of the backup in %s: %w", path, err)
	}
	f := &Folder{path: path, keys: keys}
	if err := json.Unmarshal(text, &f.index); err != nil {
		return nil, fmt.Errorf("the index of the backup in %s: %w", path, errDamaged)
	}
	return f, nil
}

// save replaces the index.
func (f *Folder) save() error {
	text, err := json.Marshal(f.index)
	if err != nil {
		return err
	}
	_, err = f.writeFile(indexFile, indexName, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
	return err
}

// removeUnnamed removes what an interrupted backup left and the index does not name.
func (f *Folder) removeUnnamed() error {
	named := map[string]bool{}
	for _, d := range f.index.Deployments {
		for _, v := range d.Volumes {
			named[v.File] = true
		}
	}
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		ours := strings.HasSuffix(e.Name(), volumeEnding) || strings.HasSuffix(e.Name(), writingEnding)
		if ours && !named[e.Name()] {
			err = errors.Join(err, os.Remove(filepath.Join(f.path, e.Name())))
		}
	}
	return err
}

// begin returns the entry of a deployment that is not complete. What was copied while its
// services were stopped before is copied again: they have run since, and its volumes have to
// fit each other.
func (f *Folder) begin(h controlplane.HeldVolumes) (*storedDeployment, error) {
	d := f.stored(h.ID)
	if d == nil {
		d = &storedDeployment{ID: h.ID}
		f.index.Deployments = append(f.index.Deployments, d)
	}
	d.Name, d.Environment = h.Name, h.Environment
	if f.index.Chosen.Running || len(d.Volumes) == 0 {
		return d, nil
	}
	d.Volumes = nil
	return d, errors.Join(f.save(), f.removeUnnamed())
}

// stored returns the entry of a deployment; nil if there is none.
func (f *Folder) stored(id controlplane.DeploymentID) *storedDeployment {
	for _, d := range f.index.Deployments {
		if d.ID == id {
			return d
		}
	}
	return nil
}

func (d *storedDeployment) find(v controlplane.VolumeName) (storedVolume, bool) {
	i := slices.IndexFunc(d.Volumes, func(s storedVolume) bool { return s.name() == v })
	if i < 0 {
		return storedVolume{}, false
	}
	return d.Volumes[i], true
}

func (d *storedDeployment) bytes() (all int64) {
	for _, v := range d.Volumes {
		all += v.Bytes
	}
	return all
}

// choose returns the deployments of a selection, by ID, name and environment.
func (f *Folder) choose(s lifecycle.VolumeSelection) (all []*storedDeployment, err error) {
	for _, d := range f.index.Deployments {
		byName := len(s.Deployments) == 0 || slices.Contains(s.Deployments, d.Name) ||
			slices.Contains(s.Deployments, string(d.ID))
		if byName && (s.Environment == "" || s.Environment == d.Environment) {
			all = append(all, d)
		}
	}
	for _, name := range s.Deployments {
		if !slices.ContainsFunc(all, func(d *storedDeployment) bool {
			return d.Name == name || string(d.ID) == name
		}) {
			err = errors.Join(err, fmt.Errorf("the backup in %s has no volumes of deployment %s",
				f.path, name))
		}
	}
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("the backup in %s has no volumes of what was chosen", f.path)
	}
	return all, err
}
