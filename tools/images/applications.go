package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/nullops/nullops/plugins/packaging"
)

// packageSet says which Debian packages an image is made of.
type packageSet struct {
	// roots come with everything that they depend on.
	roots []string
	// alone come without: their dependencies do not fit into an image, or are among the roots.
	alone []string
}

// applicationRecipes are applications of others, for `make test-apps`. They have the names, the
// variables and the behaviour of the images that people pull, so that an unchanged Compose file
// works with them. No other target needs them, so that no other target builds them.
func applicationRecipes(root string) []recipe {
	dir := filepath.Join(root, "tools", "images", "applications")
	entrypoint := func(name string) packaging.File {
		return packaging.File{Path: "usr/local/bin/docker-entrypoint.sh",
			From: filepath.Join(dir, name), Mode: 0o755}
	}
	const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	return []recipe{
		{
			repository: "mariadb", tag: "10.11", base: "mariadb", user: "0:0",
			files:      []packaging.File{entrypoint("mariadb-entrypoint.sh")},
			entrypoint: []string{"docker-entrypoint.sh"}, command: []string{"mariadbd"},
			env: []string{path}, ports: []string{"3306/tcp"}, volumes: []string{"/var/lib/mysql"},
			created: packaging.Epoch(), title: "MariaDB from Debian",
		},
		{
			repository: "wordpress", tag: "6.1", base: "wordpress", user: "0:0",
			files: []packaging.File{entrypoint("wordpress-entrypoint.sh"),
				{Path: "etc/apache2/wordpress.conf", From: filepath.Join(dir, "apache.conf")},
				{Path: "etc/php/8.2/apache2/conf.d/wordpress.ini",
					From: filepath.Join(dir, "php.ini")},
				{Path: "var/www/html/wp-config.php", From: filepath.Join(dir, "wp-config.php"),
					UID: 33, GID: 33}},
			entrypoint: []string{"docker-entrypoint.sh"},
			command:    []string{"apache2", "-f", "/etc/apache2/wordpress.conf", "-D", "FOREGROUND"},
			env:        []string{path}, ports: []string{"80/tcp"}, volumes: []string{"/var/www/html"},
			stopSignal: "SIGWINCH", created: packaging.Epoch(), title: "WordPress from Debian",
		},
	}
}

// toolRoots are the programs that the entrypoints of the applications call, and what answers for
// names under localhost, which no name server knows.
func toolRoots() []string {
	return []string{"dash", "coreutils", "util-linux", "libc-bin", "libnss-myhostname", "sed", "grep",
		"mawk", "hostname"}
}

func mariadbPackages() packageSet {
	return packageSet{roots: append(toolRoots(), "mariadb-server-core", "mariadb-client-core")}
}

// wordpressPackages leaves out what WordPress depends on for a machine with a web server that is
// set up by scripts of packages.
func wordpressPackages() packageSet {
	return packageSet{
		roots: append(toolRoots(), "libapache2-mod-php8.2", "php8.2-mysql"),
		alone: []string{"wordpress", "wordpress-theme-twentytwentythree", "php-getid3",
			"libjs-cropper", "libjs-underscore", "libjs-jquery", "libjs-prototype",
			"libjs-scriptaculous"},
	}
}

// applicationBase is the tree of an application's packages, with the accounts that scripts of
// packages would create.
func (b builder) applicationBase(ctx context.Context, name string, set packageSet) (
	[]packaging.File, error,
) {
	files, err := b.debianBase(ctx, name, set)
	if err != nil {
		return nil, err
	}
	for i, f := range files {
		// Where the official image has it, and its server may write.
		if below, found := strings.CutPrefix(f.Path, "usr/share/wordpress"); found {
			files[i].Path, files[i].UID, files[i].GID = "var/www/html"+below, 33, 33
		}
	}
	return append(files,
		packaging.File{Path: "run", Dir: true},
		packaging.File{Path: "etc/nsswitch.conf", Data: []byte("passwd: files\ngroup: files\n" +
			"hosts: files myhostname dns\n")},
		packaging.File{Path: "var/log/apache2", Dir: true},
		packaging.File{Path: "var/lib/mysql", Dir: true},
		packaging.File{Path: "etc/passwd", Data: []byte("root:x:0:0:root:/:/bin/sh\n" +
			"www-data:x:33:33:www-data:/var/www:/usr/sbin/nologin\n" +
			"mysql:x:999:999:MariaDB:/var/lib/mysql:/usr/sbin/nologin\n" +
			"nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n")},
		packaging.File{Path: "etc/group", Data: []byte("root:x:0:\nwww-data:x:33:\n" +
			"mysql:x:999:\nnogroup:x:65534:\n")},
	), nil
}
