// RUN: tierup-opt %s --split-input-file --tierup-mark-sizes | FileCheck %s
// RUN: tierup-opt %s --split-input-file --tierup-mark-sizes --tierup-mark-sizes | FileCheck %s

// CHECK-LABEL: func.func @marked
// CHECK: torch.aten.zeros {{.*}} {tierup.tied}
// CHECK: torch.aten.zeros {{.*}} {tierup.known}
// CHECK: torch.aten.zeros {{.*}}: !torch.list<int>
// CHECK-NOT: tierup.tied
// CHECK: torch.aten.index_select {{.*}} {tierup.may_be_empty}
func.func @marked(%x: !torch.vtensor<[?],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0"]}},
                  %n: !torch.int {tierup.guard = {kind = "int"}},
                  %i: !torch.vtensor<[2],si64> {tierup.guard = {dtype = "i64", kind = "array", sizes = [2]}}) -> !torch.vtensor<[2],f32> attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %two = torch.constant.int 2
  %none = torch.constant.none
  %s = torch.aten.size.int %x, %zero : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %l0 = torch.prim.ListConstruct %s : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.zeros %l0, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  %less = torch.aten.sub.int %s, %two : !torch.int, !torch.int -> !torch.int
  %lower = torch.aten.sub.int %less, %two : !torch.int, !torch.int -> !torch.int
  %l1 = torch.prim.ListConstruct %lower : (!torch.int) -> !torch.list<int>
  %1 = torch.aten.zeros %l1, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  %l2 = torch.prim.ListConstruct %n : (!torch.int) -> !torch.list<int>
  %2 = torch.aten.zeros %l2, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  %3 = torch.aten.index_select %2, %zero, %i : !torch.vtensor<[?],f32>, !torch.int, !torch.vtensor<[2],si64> -> !torch.vtensor<[2],f32>
  return %3 : !torch.vtensor<[2],f32>
}

// -----
// An index of no more rows than what it is for.
// CHECK-LABEL: func.func @fits
// CHECK: torch.aten.gather {{.*}} {tierup.fits}
// CHECK: torch.aten.scatter.value
// CHECK-NOT: tierup.fits
func.func @fits(%x: !torch.vtensor<[?,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0", 4]}},
                %i: !torch.vtensor<[?,1],si64> {tierup.guard = {dtype = "i64", kind = "array", sizes = ["s0", 1]}},
                %j: !torch.vtensor<[?,1],si64> {tierup.guard = {dtype = "i64", kind = "array", sizes = ["s1", 1]}}) -> (!torch.vtensor<[?,1],f32>, !torch.vtensor<[?,4],f32>) attributes {tierup.entry} {
  %one = torch.constant.int 1
  %false = torch.constant.bool false
  %0 = torch.aten.gather %x, %one, %i, %false : !torch.vtensor<[?,4],f32>, !torch.int, !torch.vtensor<[?,1],si64>, !torch.bool -> !torch.vtensor<[?,1],f32>
  %1 = torch.aten.scatter.value %x, %one, %j, %one : !torch.vtensor<[?,4],f32>, !torch.int, !torch.vtensor<[?,1],si64>, !torch.int -> !torch.vtensor<[?,4],f32>
  return %0, %1 : !torch.vtensor<[?,1],f32>, !torch.vtensor<[?,4],f32>
}

// -----
// What the loop carries keeps its size.
// CHECK-LABEL: func.func @steady
// CHECK: torch.prim.Loop
// CHECK: {tierup.steady}
func.func @steady(%x: !torch.vtensor<[4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [4]}}, %n: !torch.int {tierup.guard = {kind = "int"}}) -> !torch.vtensor<[4],f32> attributes {tierup.entry} {
  %true = torch.constant.bool true
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %y: !torch.vtensor<[4],f32>):
    %1 = torch.aten.tanh %y : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
    torch.prim.Loop.condition %true, iter(%1 : !torch.vtensor<[4],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
  return %0 : !torch.vtensor<[4],f32>
}

// -----
// Sizes of an int that a symbol stands for are known, and the entry says how many elements there may be. One that may be negative is not
// certain, but the others of its array are.
// CHECK-LABEL: func.func @of_an_int
// CHECK-SAME: tierup.limits = {{\[\[}}"max(1073741824, min(1073741824, s0) + 1)", 1073741824], ["max(1073741824, min(1073741824, s0)^2)", 1073741824],
// CHECK: torch.aten.zeros {{.*}} {tierup.tied}
// CHECK: torch.aten.zeros {{.*}} {tierup.tied}
// CHECK: torch.aten.zeros {{.*}} {tierup.certain = array<i64: 1>, tierup.known}
func.func @of_an_int(%n: !torch.int {tierup.guard = {kind = "int", value = "s0"}}) -> (!torch.vtensor<[?],f32>, !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>) attributes {tierup.entry} {
  %one = torch.constant.int 1
  %five = torch.constant.int 5
  %none = torch.constant.none
  %m = torch.aten.add.int %n, %one : !torch.int, !torch.int -> !torch.int
  %l0 = torch.prim.ListConstruct %m : (!torch.int) -> !torch.list<int>
  %0 = torch.aten.zeros %l0, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?],f32>
  %l1 = torch.prim.ListConstruct %n, %n : (!torch.int, !torch.int) -> !torch.list<int>
  %1 = torch.aten.zeros %l1, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?,?],f32>
  %less = torch.aten.sub.int %n, %five : !torch.int, !torch.int -> !torch.int
  %l2 = torch.prim.ListConstruct %less, %n : (!torch.int, !torch.int) -> !torch.list<int>
  %2 = torch.aten.zeros %l2, %none, %none, %none, %none : !torch.list<int>, !torch.none, !torch.none, !torch.none, !torch.none -> !torch.vtensor<[?,?],f32>
  return %0, %1, %2 : !torch.vtensor<[?],f32>, !torch.vtensor<[?,?],f32>, !torch.vtensor<[?,?],f32>
}

// -----
// The item of a range is inside, and so is its neighbour where the range leaves it out; one below 0 is counted from the end. What a sum in
// 64 bits might be is not known.
// CHECK-LABEL: func.func @inside
// CHECK: torch.aten.select.int {{.*}} {tierup.inside = "from_start"}
// CHECK: torch.aten.select.int {{.*}} {tierup.inside = "from_start"}
// CHECK: torch.aten.select.int {{.*}} {tierup.inside = "from_end"}
// CHECK: torch.aten.select.int
// CHECK-NOT: tierup.inside
func.func @inside(%x: !torch.vtensor<[?],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0"]}}, %n: !torch.int {tierup.guard = {kind = "int"}}) attributes {tierup.entry} {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %size = torch.aten.size.int %x, %zero : !torch.vtensor<[?],f32>, !torch.int -> !torch.int
  %length = torch.aten.__range_length %one, %size, %one : !torch.int, !torch.int, !torch.int -> !torch.int
  torch.prim.Loop %length, %true, init() {
  ^bb0(%round: !torch.int):
    %i = torch.aten.__derive_index %round, %one, %one : !torch.int, !torch.int, !torch.int -> !torch.int
    %0 = torch.aten.select.int %x, %zero, %i : !torch.vtensor<[?],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
    %before = torch.aten.sub.int %i, %one : !torch.int, !torch.int -> !torch.int
    %1 = torch.aten.select.int %x, %zero, %before : !torch.vtensor<[?],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
    %back = torch.aten.neg.int %i : !torch.int -> !torch.int
    %2 = torch.aten.select.int %x, %zero, %back : !torch.vtensor<[?],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  %low = torch.aten.ge.int %n, %zero : !torch.int, !torch.int -> !torch.bool
  %next = torch.aten.add.int %n, %one : !torch.int, !torch.int -> !torch.int
  torch.prim.If %low -> () {
    %high = torch.aten.lt.int %next, %size : !torch.int, !torch.int -> !torch.bool
    torch.prim.If %high -> () {
      %3 = torch.aten.select.int %x, %zero, %next : !torch.vtensor<[?],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
      torch.prim.If.yield
    } else {
      torch.prim.If.yield
    }
    torch.prim.If.yield
  } else {
    torch.prim.If.yield
  }
  return
}

// -----
// What is written at a position: of an axis that has elements for sure the lowering need not ask the run.
// CHECK-LABEL: func.func @written
// CHECK: torch.aten.select_scatter {{.*}} {tierup.has_elements}
// CHECK: torch.aten.select_scatter %{{[^{]*}} : !torch.vtensor<[?],f32>
// CHECK: return
func.func @written(%x: !torch.vtensor<[?],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0"]}}, %v: !torch.vtensor<[],f32> {tierup.guard = {dtype = "f32", kind = "array"}},
                   %n: !torch.int {tierup.guard = {kind = "int"}}) -> (!torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>) attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %none = torch.constant.none
  %0 = torch.aten.select_scatter %x, %v, %zero, %n : !torch.vtensor<[?],f32>, !torch.vtensor<[],f32>, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  %s = torch.aten.slice.Tensor %x, %zero, %none, %n, %one : !torch.vtensor<[?],f32>, !torch.int, !torch.none, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  %1 = torch.aten.select_scatter %s, %v, %zero, %n : !torch.vtensor<[?],f32>, !torch.vtensor<[],f32>, !torch.int, !torch.int -> !torch.vtensor<[?],f32>
  return %0, %1 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32>
}

// -----
// What conditions say of an int: a position that may be beyond the end alone, a divisor, comparisons that they decide.
// CHECK-LABEL: func.func @ints
// CHECK: torch.aten.select.int {{.*}} {tierup.not_negative}
// CHECK: torch.aten.remainder.int {{.*}} {tierup.not_negative, tierup.positive_divisor}
// CHECK: torch.prim.If.yield {{.*}}, %true{{.*}}, %false{{.*}}, %true{{.*}} :
// CHECK: torch.aten.select.int
// CHECK-NOT: tierup.not_negative
// CHECK: torch.aten.remainder.int %{{.*}}, %{{.*}} : !torch.int
// CHECK: torch.aten.remainder.int {{.*}} {tierup.positive_divisor}
func.func @ints(%x: !torch.vtensor<[5],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = [5]}}, %n: !torch.int {tierup.guard = {kind = "int"}}) -> (!torch.vtensor<[],f32>, !torch.int, !torch.bool, !torch.bool, !torch.bool, !torch.vtensor<[],f32>, !torch.int, !torch.int) attributes {tierup.entry} {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %c = torch.aten.gt.int %n, %one : !torch.int, !torch.int -> !torch.bool
  %0:5 = torch.prim.If %c -> (!torch.vtensor<[],f32>, !torch.int, !torch.bool, !torch.bool, !torch.bool) {
    %1 = torch.aten.select.int %x, %zero, %n : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
    %2 = torch.aten.remainder.int %one, %n : !torch.int, !torch.int -> !torch.int
    %3 = torch.aten.ge.int %n, %one : !torch.int, !torch.int -> !torch.bool
    %4 = torch.aten.eq.int %n, %zero : !torch.int, !torch.int -> !torch.bool
    %5 = torch.aten.ne.int %n, %one : !torch.int, !torch.int -> !torch.bool
    torch.prim.If.yield %1, %2, %3, %4, %5 : !torch.vtensor<[],f32>, !torch.int, !torch.bool, !torch.bool, !torch.bool
  } else {
    %1 = torch.aten.select.int %x, %zero, %zero : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
    torch.prim.If.yield %1, %n, %c, %c, %c : !torch.vtensor<[],f32>, !torch.int, !torch.bool, !torch.bool, !torch.bool
  }
  %6 = torch.aten.select.int %x, %zero, %n : !torch.vtensor<[5],f32>, !torch.int, !torch.int -> !torch.vtensor<[],f32>
  %7 = torch.aten.remainder.int %one, %n : !torch.int, !torch.int -> !torch.int
  %five = torch.constant.int 5
  %8 = torch.aten.remainder.int %n, %five : !torch.int, !torch.int -> !torch.int
  return %0#0, %0#1, %0#2, %0#3, %0#4, %6, %7, %8 : !torch.vtensor<[],f32>, !torch.int, !torch.bool, !torch.bool, !torch.bool, !torch.vtensor<[],f32>, !torch.int, !torch.int
}
