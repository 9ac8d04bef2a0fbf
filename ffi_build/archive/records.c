/* SPDX-License-Identifier: Apache-2.0 */
/* Entries as they are reported to Python: records one after another, each with its texts behind it. */
#pragma once

#include "interface.c"
#include "memory.c"

/* Add a record; `head` says all but the sizes. False for want of memory. */
static int record_add(Bytes *records, cpkg_record head, Text name, Text link, Text uname, Text gname)
{
    head.name_size = (uint32_t)name.size;
    head.link_size = (uint32_t)link.size;
    head.uname_size = (uint32_t)uname.size;
    head.gname_size = (uint32_t)gname.size;
    head.record_size = (uint32_t)(sizeof head + name.size + link.size + uname.size + gname.size);
    return bytes_add(records, &head, sizeof head) && bytes_add(records, name.data, name.size) &&
           bytes_add(records, link.data, link.size) && bytes_add(records, uname.data, uname.size) &&
           bytes_add(records, gname.data, gname.size);
}
