# SPDX-License-Identifier: Apache-2.0
# A module that cffi generates at build time; its names are those of the cdef in ffi_build, without static types.
from cpkg._native.cffi_types import FFI, Lib

ffi: FFI
lib: Lib
