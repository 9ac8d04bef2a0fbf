// SPDX-License-Identifier: Apache-2.0
// Writes an archive in the format that is named.
package main

import (
	"archive/tar"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write(format tar.Format) {
	writer := tar.NewWriter(os.Stdout)
	add := func(header tar.Header, data string) {
		header.Format, header.Size, header.Mode = format, int64(len(data)), 0o640
		header.ModTime = time.Unix(1234567890, 0)
		if format == tar.FormatPAX {
			header.ModTime = time.Unix(1234567890, 987654321)
		}
		check(writer.WriteHeader(&header))
		_, err := io.WriteString(writer, data)
		check(err)
	}
	long := strings.Repeat("d/", 60)
	add(tar.Header{Typeflag: tar.TypeDir, Name: "d/"}, "")
	add(tar.Header{Typeflag: tar.TypeReg, Name: "d/file", Uid: 5, Gid: 6, Uname: "user", Gname: "group"}, "some data")
	add(tar.Header{Typeflag: tar.TypeSymlink, Name: "d/link", Linkname: "file"}, "")
	add(tar.Header{Typeflag: tar.TypeLink, Name: "d/hard", Linkname: "d/file"}, "")
	add(tar.Header{Typeflag: tar.TypeReg, Name: long + "prefix"}, strings.Repeat("x", 2000))
	if format != tar.FormatUSTAR {
		add(tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("n", 200), Uid: 1 << 30}, "long name")
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "far", Linkname: strings.Repeat("t", 150)}, "")
		add(tar.Header{Typeflag: tar.TypeReg, Name: "café"}, "")
	}
	if format == tar.FormatPAX {
		add(tar.Header{Typeflag: tar.TypeReg, Name: "x", PAXRecords: map[string]string{"SCHILY.xattr.user.a": "v"}}, "")
	}
	check(writer.Close())
}

func main() {
	switch os.Args[1] {
	case "ustar":
		write(tar.FormatUSTAR)
	case "pax":
		write(tar.FormatPAX)
	case "gnu":
		write(tar.FormatGNU)
	}
}
