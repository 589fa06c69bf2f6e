package cli

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
	"github.com/nullops/nullops/internal/signing"
)

// installedSignature is where the packages put the signature of the program.
const installedSignature = "/usr/share/nullops/nullops.sig"

// versionInfo is the program's release, as JSON.
type versionInfo struct {
	Release  string `json:"release"`
	Platform string `json:"platform"`
	// Verified is set by --verify: the running program is the signed one.
	Verified bool `json:"verified,omitempty"`
	// Key is the SHA-256 of the public key that signed it.
	Key string `json:"key,omitempty"`
}

// versionFlags are what --verify is told.
type versionFlags struct {
	verify         bool
	signature, key string
}

func versionCommand(build, releaseKey string) *cobra.Command {
	var f versionFlags
	c := &cobra.Command{
		Use: "version [--verify [--key FILE]]", Args: exit.ExactArgs(0),
		Short: "Print the release of this program, and verify that it is the released one",
		Long: "With --verify, it holds the running program to the signature of its release, which\n" +
			"is beside the program as nullops.sig, or where the package put it. The key that\n" +
			"signed it is built in. If you have the key from elsewhere, give it with --key: a\n" +
			"program that was replaced could have another key built in.",
	}
	c.Flags().BoolVar(&f.verify, "verify", false, "verify the running program")
	c.Flags().StringVar(&f.signature, "signature", "", "signature file, if it is elsewhere")
	c.Flags().StringVar(&f.key, "key", "", "file with the public key to trust, in PEM")
	asJSON := output.JSONFlag[versionInfo](c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		v := versionInfo{Release: build, Platform: runtime.GOOS + "/" + runtime.GOARCH}
		if f.verify {
			key, err := f.readKey(releaseKey)
			if err != nil {
				return err
			}
			if err := f.verifyProgram(v, key); err != nil {
				return err
			}
			hash := sha256.Sum256(key)
			v.Verified, v.Key = true, "sha256:"+hex.EncodeToString(hash[:])
		}
		if asJSON.Wanted() {
			return asJSON.Print(c.OutOrStdout(), v)
		}
		fmt.Fprintf(c.OutOrStdout(), "nullops %s %s\n", v.Release, v.Platform)
		if v.Verified {
			fmt.Fprintf(c.OutOrStdout(), "verified: this is the released program, signed with the key %s\n",
				v.Key)
		}
		return nil
	}
	return c
}

func (f versionFlags) readKey(builtIn string) (ed25519.PublicKey, error) {
	if f.key != "" {
		text, err := os.ReadFile(f.key)
		if err != nil {
			return nil, exit.AsUsageError(fmt.Errorf("--key: %w", err))
		}
		return signing.ReadPublicKey(string(text))
	}
	if builtIn == "" {
		return nil, errors.New("this program was built without a release key, so nobody vouches " +
			"for it; programs of a release have one")
	}
	return signing.ReadPublicKey(builtIn)
}

// verifyProgram holds the running program to the statement of its release.
func (f versionFlags) verifyProgram(v versionInfo, key ed25519.PublicKey) error {
	path, err := runningProgram()
	if err != nil {
		return err
	}
	file, err := f.readSignature()
	if err != nil {
		return err
	}
	said, err := signing.Verify(key, file)
	if err != nil {
		return fmt.Errorf("do not trust this program: %w", err)
	}
	program, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the running program: %w", err)
	}
	defer program.Close()
	hash, err := signing.HashProgram(program)
	if err != nil {
		return err
	}
	if hash != said.SHA256 || v.Release != said.Release || v.Platform != said.Platform {
		return fmt.Errorf("do not trust this program: it is %s for %s with sha256:%s, and the "+
			"signature is of %s for %s with sha256:%s", v.Release, v.Platform, hash, said.Release,
			said.Platform, said.SHA256)
	}
	return nil
}

func (f versionFlags) readSignature() ([]byte, error) {
	if f.signature != "" {
		file, err := os.ReadFile(f.signature)
		if err != nil {
			return nil, exit.AsUsageError(fmt.Errorf("--signature: %w", err))
		}
		return file, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	beside := filepath.Join(filepath.Dir(path), "nullops.sig")
	for _, place := range []string{beside, installedSignature} {
		file, err := os.ReadFile(place)
		if !errors.Is(err, fs.ErrNotExist) {
			return file, err
		}
	}
	return nil, fmt.Errorf("there is no signature at %s or %s: take nullops.sig from the release, "+
		"and name it with --signature", beside, installedSignature)
}

// runningProgram is the file that this process was started from. On Linux that is also right
// after somebody has put another file in its place.
func runningProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	path, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the running program: %w", err)
	}
	return path, nil
}
