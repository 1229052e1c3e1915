// RUN: tierup-opt %s --tierup-peephole-dict-idioms --split-input-file | FileCheck %s
// RUN: tierup-opt %s --pass-pipeline="builtin.module(tierup-peephole-dict-idioms,tierup-peephole-dict-idioms)" --split-input-file | FileCheck %s

// CHECK-LABEL: func.func @lookups
// CHECK-SAME: %[[X:[a-z0-9]+]]: !torch.int, %[[Y:[a-z0-9]+]]: !torch.int
func.func @lookups(%x: !torch.int, %y: !torch.int) -> (!torch.int, !torch.bool, !torch.bool, !torch.int, !torch.list<str>) {
  %a = torch.constant.str "a"
  %b = torch.constant.str "b"
  %c = torch.constant.str "c"
  // CHECK-NOT: torch.prim.DictConstruct
  %d = torch.prim.DictConstruct keys(%a, %b : !torch.str, !torch.str) values(%x, %y : !torch.int, !torch.int) -> !torch.dict<str, int>
  %0 = torch.aten.__getitem__.Dict_str %d, %b : !torch.dict<str, int>, !torch.str -> !torch.int
  // CHECK: %[[HAS:.*]] = torch.constant.bool true
  %1 = torch.aten.__contains__.str %d, %a : !torch.dict<str, int>, !torch.str -> !torch.bool
  // CHECK: %[[HAS_NOT:.*]] = torch.constant.bool false
  %2 = torch.aten.__contains__.str %d, %c : !torch.dict<str, int>, !torch.str -> !torch.bool
  // CHECK: %[[LEN:.*]] = torch.constant.int 2
  %3 = torch.operator "aten.len.Dict_str"(%d) : (!torch.dict<str, int>) -> !torch.int
  // CHECK: %[[KEYS:.*]] = torch.prim.ListConstruct %str{{.*}}, %str
  %4 = torch.aten.keys.str %d : !torch.dict<str, int> -> !torch.list<str>
  // CHECK: return %[[Y]], %[[HAS]], %[[HAS_NOT]], %[[LEN]], %[[KEYS]]
  return %0, %1, %2, %3, %4 : !torch.int, !torch.bool, !torch.bool, !torch.int, !torch.list<str>
}

// -----
// A key that is missing, or known to the run alone.
// CHECK-LABEL: func.func @keys_that_stay
func.func @keys_that_stay(%x: !torch.int, %s: !torch.str) -> (!torch.int, !torch.int) {
  %a = torch.constant.str "a"
  %b = torch.constant.str "b"
  %d = torch.prim.DictConstruct keys(%a : !torch.str) values(%x : !torch.int) -> !torch.dict<str, int>
  // CHECK-COUNT-2: torch.aten.__getitem__.Dict_str
  %0 = torch.aten.__getitem__.Dict_str %d, %b : !torch.dict<str, int>, !torch.str -> !torch.int
  %1 = torch.aten.__getitem__.Dict_str %d, %s : !torch.dict<str, int>, !torch.str -> !torch.int
  return %0, %1 : !torch.int, !torch.int
}

// -----
// CHECK-LABEL: func.func @dicts_that_stay
func.func @dicts_that_stay(%x: !torch.int, %y: !torch.int, %s: !torch.str) -> (!torch.int, !torch.int, !torch.int, !torch.dict<str, int>) {
  %a = torch.constant.str "a"
  %twice = torch.prim.DictConstruct keys(%a, %a : !torch.str, !torch.str) values(%x, %y : !torch.int, !torch.int) -> !torch.dict<str, int>
  // CHECK-COUNT-3: torch.aten.__getitem__.Dict_str
  %0 = torch.aten.__getitem__.Dict_str %twice, %a : !torch.dict<str, int>, !torch.str -> !torch.int
  %unknown = torch.prim.DictConstruct keys(%a, %s : !torch.str, !torch.str) values(%x, %y : !torch.int, !torch.int) -> !torch.dict<str, int>
  %1 = torch.aten.__getitem__.Dict_str %unknown, %a : !torch.dict<str, int>, !torch.str -> !torch.int
  %changed = torch.prim.DictConstruct keys(%a : !torch.str) values(%x : !torch.int) -> !torch.dict<str, int>
  torch.aten._set_item.str %changed, %a, %y : !torch.dict<str, int>, !torch.str, !torch.int
  %2 = torch.aten.__getitem__.Dict_str %changed, %a : !torch.dict<str, int>, !torch.str -> !torch.int
  return %0, %1, %2, %changed : !torch.int, !torch.int, !torch.int, !torch.dict<str, int>
}

// -----
// Whether an unknown key is in a dict, and whether a key is in an unknown dict.
// CHECK-LABEL: func.func @contained
// CHECK-COUNT-2: torch.aten.__contains__.str
func.func @contained(%x: !torch.int, %s: !torch.str, %caller: !torch.dict<str, int>) -> (!torch.bool, !torch.bool) {
  %a = torch.constant.str "a"
  %d = torch.prim.DictConstruct keys(%a : !torch.str) values(%x : !torch.int) -> !torch.dict<str, int>
  %0 = torch.aten.__contains__.str %d, %s : !torch.dict<str, int>, !torch.str -> !torch.bool
  %1 = torch.aten.__contains__.str %caller, %a : !torch.dict<str, int>, !torch.str -> !torch.bool
  return %0, %1 : !torch.bool, !torch.bool
}
