// SPDX-License-Identifier: Apache-2.0
// A library that is no plugin.
extern "C" [[gnu::visibility("default")]] int not_a_plugin;
int not_a_plugin = 0;
