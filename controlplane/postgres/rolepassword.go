package postgres

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
)

// scramRounds is PostgreSQL's own number of iterations (scram_iterations).
const scramRounds = 4096

// ensureRole creates the role with the password of its passfile, or sets that password. It
// refuses a role whose rights cannot be limited. Name is quoted.
func (s *Store) ensureRole(ctx context.Context, tx pgx.Tx, r Role, name string) error {
	var unlimited, exists bool
	err := tx.QueryRow(ctx, `SELECT count(*) > 0,
		coalesce(bool_or(rolsuper OR pg_has_role(oid, current_user, 'MEMBER')), false)
		FROM pg_roles WHERE rolname = $1`, r.Name).Scan(&exists, &unlimited)
	if err != nil {
		return err
	}
	if unlimited {
		return errors.New("it is a superuser or the role that migrates, and would keep all " +
			"rights: name another role")
	}
	if r.Passfile == "" {
		return nil
	}
	password, err := s.readPassword(r)
	if err != nil {
		return err
	}
	verifier, err := newVerifier(password)
	if err != nil {
		return err
	}
	verb := "CREATE"
	if exists {
		verb = "ALTER"
	}
	// The verifier is base64 and punctuation: it needs no escapes.
	_, err = tx.Exec(ctx, verb+" ROLE "+name+" LOGIN PASSWORD '"+verifier+"'")
	return err
}

// readPassword finds the role's password for this database in its passfile.
func (s *Store) readPassword(r Role) (string, error) {
	// The library ignores a file that it cannot read.
	if _, err := os.Stat(r.Passfile); err != nil {
		return "", fmt.Errorf("passfile: %w", err)
	}
	at := s.pool.Config().ConnConfig
	var words []string
	for _, pair := range [][2]string{{"host", at.Host}, {"port", fmt.Sprint(at.Port)},
		{"dbname", at.Database}, {"user", r.Name}, {"passfile", r.Passfile}, {"password", ""}} {
		words = append(words, pair[0]+"='"+strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(pair[1])+"'")
	}
	c, err := pgx.ParseConfig(strings.Join(words, " "))
	if err != nil {
		return "", errors.New("passfile: the database's address is not one that libpq reads")
	}
	if c.Password == "" {
		return "", fmt.Errorf("the passfile %s has no line %s:%d:%s:%s:PASSWORD", r.Passfile,
			at.Host, at.Port, at.Database, r.Name)
	}
	return c.Password, nil
}

// newVerifier makes what PostgreSQL stores of a password (SCRAM-SHA-256, RFC 5803), so that
// the password itself never reaches the server or its log.
func newVerifier(password string) (string, error) {
	for _, c := range []byte(password) {
		// Others would need SASLprep.
		if c <= ' ' || c > '~' {
			return "", errors.New("its password may have visible ASCII characters only")
		}
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	salted, err := pbkdf2.Key(sha256.New, password, salt, scramRounds, sha256.Size)
	if err != nil {
		return "", err
	}
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", scramRounds, encode(salt), encode(stored[:]),
		encode(sign("Server Key"))), nil
}
