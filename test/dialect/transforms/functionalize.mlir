// RUN: tierup-opt %s --tierup-functionalize --split-input-file --verify-diagnostics | FileCheck %s
// RUN: tierup-opt %s --tierup-functionalize --tierup-functionalize --split-input-file --verify-diagnostics | FileCheck %s

// A function that writes nothing: types change, aliases are stated.
// CHECK-LABEL: func.func @no_writes(
// CHECK-SAME: %arg0: !torch.vtensor<[2,3],f32>{{.*}}-> (!torch.vtensor, !torch.vtensor<[2,3],f32>, !torch.vtensor, !torch.vtensor)
// CHECK-SAME: tierup.result_aliases = ["view:0", "argument:0", "fresh", "may_view:0"]
// CHECK-NOT: tierup.writebacks
func.func @no_writes(%x: !torch.tensor<[2,3],f32>, %sizes: !torch.list<int>) -> (!torch.tensor, !torch.tensor<[2,3],f32>, !torch.tensor, !torch.tensor) {
  %0 = torch.aten.t %x : !torch.tensor<[2,3],f32> -> !torch.tensor
  %1 = torch.aten.tanh %0 : !torch.tensor -> !torch.tensor
  %2 = torch.aten.reshape %x, %sizes : !torch.tensor<[2,3],f32>, !torch.list<int> -> !torch.tensor
  return %0, %x, %1, %2 : !torch.tensor, !torch.tensor<[2,3],f32>, !torch.tensor, !torch.tensor
}

// -----
// The in-place op's twin, held to the written tensor's dtype and shape; the argument's new contents are the last result.
// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: tierup.result_aliases = ["argument:0"], tierup.writebacks = array<i64: 0>
// CHECK: %[[SUM:.*]] = torch.aten.add.Tensor %arg0, %arg1, %{{.*}} : {{.*}} -> !torch.vtensor
// CHECK: %[[NEW:.*]] = torch.aten.copy %arg0, %[[SUM]], %{{.*}} {tierup.inplace = "can_cast"}
// CHECK: return %[[NEW]], %[[NEW]]
func.func @in_place(%x: !torch.tensor, %y: !torch.tensor) -> !torch.tensor {
  %one = torch.constant.int 1
  %0 = torch.aten.add_.Tensor %x, %y, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
  return %0 : !torch.tensor
}

// -----
// NumPy's casting rule where NumPy's promotion is asked for.
// CHECK-LABEL: func.func @numpy(
// CHECK: torch.aten.mul.Tensor %arg0, %arg1 {tierup.promotion = "numpy", tierup.written_by = "aten.mul_.Tensor"}
// CHECK: torch.aten.copy {{.*}} {tierup.inplace = "same_kind"}
func.func @numpy(%x: !torch.tensor, %y: !torch.tensor) {
  %0 = torch.aten.mul_.Tensor %x, %y {tierup.promotion = "numpy"} : !torch.tensor, !torch.tensor -> !torch.tensor
  return
}

// -----
// A write through a chain of views is undone view by view; reads through other views see it.
// CHECK-LABEL: func.func @through_views(
// CHECK: %[[T:.*]] = torch.aten.t %arg0
// CHECK: %[[ROW:.*]] = torch.aten.select.int %[[T]]
// CHECK: %[[ZERO:.*]] = torch.aten.zero %[[ROW]]
// CHECK: %[[NEWT:.*]] = torch.aten.select_scatter %[[T]], %[[ZERO]]
// CHECK: %[[NEW:.*]] = torch.aten.t %[[NEWT]]
// CHECK: %[[SEEN:.*]] = torch.aten.select.int %[[NEW]]
// CHECK: %[[RESULT:.*]] = torch.aten.tanh %[[SEEN]]
// CHECK: return %[[RESULT]], %[[NEW]]
func.func @through_views(%x: !torch.tensor, %i: !torch.int) -> !torch.tensor {
  %dim = torch.constant.int 0
  %seen = torch.aten.select.int %x, %dim, %i : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %0 = torch.aten.t %x : !torch.tensor -> !torch.tensor
  %1 = torch.aten.select.int %0, %dim, %i : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %2 = torch.aten.zero_ %1 : !torch.tensor -> !torch.tensor
  %3 = torch.aten.tanh %seen : !torch.tensor -> !torch.tensor
  return %3 : !torch.tensor
}

// -----
// Parts of unbind are written one by one.
// CHECK-LABEL: func.func @parts(
// CHECK: %[[PARTS:.*]] = torch.aten.unbind.int %arg0
// CHECK: %[[UNPACKED:.*]]:2 = torch.prim.ListUnpack %[[PARTS]]
// CHECK: %[[ZERO:.*]] = torch.aten.zero %[[UNPACKED]]#1
// CHECK: torch.aten.select_scatter %arg0, %[[ZERO]], %int0, %int1
func.func @parts(%x: !torch.tensor) -> !torch.tensor {
  %dim = torch.constant.int 0
  %list = torch.aten.unbind.int %x, %dim : !torch.tensor, !torch.int -> !torch.list<tensor>
  %0:2 = torch.prim.ListUnpack %list : !torch.list<tensor> -> !torch.tensor, !torch.tensor
  %1 = torch.aten.zero_ %0#1 : !torch.tensor -> !torch.tensor
  return %0#0 : !torch.tensor
}

// -----
// What a branch writes becomes its result; a tensor that both arms give stays that tensor.
// CHECK-LABEL: func.func @branch(
// CHECK-SAME: tierup.result_aliases = ["argument:0"]
// CHECK: %[[NEW:.*]] = torch.prim.If %arg1 -> (!torch.vtensor) {
// CHECK: %[[ZERO:.*]] = torch.aten.zero %arg0
// CHECK: %[[WRITTEN:.*]] = torch.aten.copy %arg0, %[[ZERO]]
// CHECK: torch.prim.If.yield %[[WRITTEN]]
// CHECK: torch.prim.If.yield %arg0
// CHECK: return %[[NEW]], %[[NEW]]
func.func @branch(%x: !torch.tensor, %c: !torch.bool) -> !torch.tensor {
  %0 = torch.prim.If %c -> (!torch.tensor) {
    %1 = torch.aten.zero_ %x : !torch.tensor -> !torch.tensor
    torch.prim.If.yield %1 : !torch.tensor
  } else {
    torch.prim.If.yield %x : !torch.tensor
  }
  return %0 : !torch.tensor
}

// -----
// An arm that raises gives nothing: the result is the other arm's.
// CHECK-LABEL: func.func @raising(
// CHECK-SAME: tierup.result_aliases = ["argument:0"]
func.func @raising(%x: !torch.tensor, %c: !torch.bool) -> !torch.tensor {
  %text = torch.constant.str "no"
  %none = torch.constant.none
  %0 = torch.prim.If %c -> (!torch.tensor) {
    torch.prim.If.yield %x : !torch.tensor
  } else {
    %optional = torch.derefine %none : !torch.none to !torch.optional<str>
    torch.prim.RaiseException %text, %optional : !torch.str, !torch.optional<str>
    %1 = torch.prim.Uninitialized : !torch.tensor
    torch.prim.If.yield %1 : !torch.tensor
  }
  %2 = torch.aten.zero_ %0 : !torch.tensor -> !torch.tensor
  return %2 : !torch.tensor
}

// -----
// What a loop writes is carried, nested loops included.
// CHECK-LABEL: func.func @loops(
// CHECK: torch.prim.Loop %arg1, %true, init(%arg0) {
// CHECK: ^bb0(%{{.*}}: !torch.int, %[[OUTER:.*]]: !torch.vtensor):
// CHECK: torch.prim.Loop %arg1, %true, init(%[[OUTER]]) {
// CHECK: ^bb0(%{{.*}}: !torch.int, %[[INNER:.*]]: !torch.vtensor):
// CHECK: torch.aten.tanh %[[INNER]]
func.func @loops(%x: !torch.tensor, %n: !torch.int) {
  %true = torch.constant.bool true
  torch.prim.Loop %n, %true, init() {
  ^bb0(%i: !torch.int):
    torch.prim.Loop %n, %true, init() {
    ^bb0(%j: !torch.int):
      %0 = torch.aten.tanh_ %x : !torch.tensor -> !torch.tensor
      torch.prim.Loop.condition %true, iter()
    } : (!torch.int, !torch.bool) -> ()
    torch.prim.Loop.condition %true, iter()
  } : (!torch.int, !torch.bool) -> ()
  return
}

// -----
// A list sees its tensors as they are when it is read.
// CHECK-LABEL: func.func @list(
// CHECK: %[[NEW:.*]] = torch.aten.copy
// CHECK: %[[LIST:.*]] = torch.prim.ListConstruct %[[NEW]], %[[NEW]]
// CHECK: torch.aten.cat %[[LIST]]
func.func @list(%x: !torch.tensor) -> !torch.tensor {
  %dim = torch.constant.int 0
  %list = torch.prim.ListConstruct %x, %x : (!torch.tensor, !torch.tensor) -> !torch.list<tensor>
  %0 = torch.aten.tanh_ %x : !torch.tensor -> !torch.tensor
  %1 = torch.aten.cat %list, %dim : !torch.list<tensor>, !torch.int -> !torch.tensor
  return %1 : !torch.tensor
}

// -----
// CHECK-LABEL: func.func @copies_and_overwrites(
// CHECK-SAME: tierup.result_aliases = ["fresh"], tierup.writebacks = array<i64: 0>
// CHECK: %[[TANH:.*]] = torch.aten.tanh %arg0
// CHECK: %[[NEW:.*]] = torch.aten.copy %arg0, %[[TANH]]
// CHECK: return %arg0, %[[NEW]]
func.func @copies_and_overwrites(%x: !torch.tensor) -> !torch.vtensor {
  %0 = torch.copy.to_vtensor %x : !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  torch.overwrite.tensor.contents %1 overwrites %x : !torch.vtensor, !torch.tensor
  return %0 : !torch.vtensor
}

// -----
func.func @expanded(%x: !torch.tensor, %sizes: !torch.list<int>) {
  %false = torch.constant.bool false
  // expected-note@below {{the view is made here}}
  %0 = torch.aten.expand %x, %sizes, %false : !torch.tensor, !torch.list<int>, !torch.bool -> !torch.tensor
  // expected-error@below {{'torch.aten.zero_' op writes through aten.expand: no op gives the whole back from this view}}
  %1 = torch.aten.zero_ %0 : !torch.tensor -> !torch.tensor
  return
}

// -----
func.func @maybe_a_copy(%x: !torch.tensor) {
  %format = torch.constant.int 0
  %0 = torch.aten.contiguous %x, %format : !torch.tensor, !torch.int -> !torch.tensor
  // expected-error@below {{'torch.aten.zero_' op writes memory that may be shared with argument 0}}
  %1 = torch.aten.zero_ %0 : !torch.tensor -> !torch.tensor
  return
}

// -----
func.func private @writes(%x: !torch.tensor) {
  %0 = torch.aten.zero_ %x : !torch.tensor -> !torch.tensor
  return
}
func.func @calls(%x: !torch.tensor) {
  // expected-error@below {{calls a function that writes tensors: inline it first}}
  func.call @writes(%x) : (!torch.tensor) -> ()
  return
}

// -----
// Carried tensors that take turns are never one another.
// CHECK-LABEL: func.func @turns(
// CHECK: torch.prim.Loop
// CHECK: ^bb0({{.*}}: !torch.int, %[[P:[a-z0-9]+]]: !torch.vtensor, %[[Q:[a-z0-9]+]]: !torch.vtensor
// CHECK: %[[NEW:.*]] = torch.aten.tanh %[[P]]
// CHECK: torch.prim.Loop.condition %{{.*}}, iter(%[[Q]], %{{.*}} :
func.func @turns(%x: !torch.vtensor, %n: !torch.int) -> !torch.tensor {
  %true = torch.constant.bool true
  %a = torch.copy.to_tensor %x : !torch.tensor
  %b = torch.copy.to_tensor %x : !torch.tensor
  %0:2 = torch.prim.Loop %n, %true, init(%a, %b) {
  ^bb0(%i: !torch.int, %p: !torch.tensor, %q: !torch.tensor):
    %1 = torch.aten.tanh_ %p : !torch.tensor -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%q, %p : !torch.tensor, !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor) -> (!torch.tensor, !torch.tensor)
  return %0#0 : !torch.tensor
}

// -----
// After the first round both are one tensor.
func.func @follows(%x: !torch.vtensor, %n: !torch.int) -> !torch.tensor {
  %true = torch.constant.bool true
  %none = torch.constant.none
  %a = torch.copy.to_tensor %x : !torch.tensor
  %b = torch.copy.to_tensor %x : !torch.tensor
  // expected-note@below {{this loop does not hand on the tensor it got: use the op that does not write, or start with an aten.clone}}
  %0:2 = torch.prim.Loop %n, %true, init(%a, %b) {
  ^bb0(%i: !torch.int, %p: !torch.tensor, %q: !torch.tensor):
    // expected-error@below {{writes a tensor that a loop carries, which is a tensor that is read later in some rounds and another in others}}
    %1 = torch.aten.tanh_ %p : !torch.tensor -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%q, %q : !torch.tensor, !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor) -> (!torch.tensor, !torch.tensor)
  return %0#0 : !torch.tensor
}

// -----
func.func @blocks(%x: !torch.tensor) -> !torch.tensor {
  // expected-error@below {{'cf.br' op goes to another block: write torch.prim.If or torch.prim.Loop instead}}
  cf.br ^bb1
^bb1:
  return %x : !torch.tensor
}

// -----
// A list of another length than it is unpacked into raises: the op stays where it was, used or not.
// CHECK-LABEL: func.func @wrong_counts(
// CHECK: torch.prim.ListUnpack
// CHECK: torch.prim.ListUnpack
// CHECK: return %arg0
func.func @wrong_counts(%x: !torch.tensor, %y: !torch.tensor) -> !torch.tensor {
  %dim = torch.constant.int 0
  %pair = torch.prim.ListConstruct %x, %y : (!torch.tensor, !torch.tensor) -> !torch.list<tensor>
  %0:3 = torch.prim.ListUnpack %pair : !torch.list<tensor> -> !torch.tensor, !torch.tensor, !torch.tensor
  %parts = torch.aten.unbind.int %x, %dim : !torch.tensor, !torch.int -> !torch.list<tensor>
  %1:2 = torch.prim.ListUnpack %parts : !torch.list<tensor> -> !torch.tensor, !torch.tensor
  return %x : !torch.tensor
}

// -----

// A loop that starts with an argument and goes on with something new: whether the caller sees the write, only the round can tell.
func.func @writes_what_it_carries(%x: !torch.tensor, %n: !torch.int) -> !torch.tensor {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  // expected-note@below {{this loop does not hand on the tensor it got}}
  %0 = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.tensor):
    %1 = torch.aten.add.Scalar %a, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
    // expected-error@below {{'torch.aten.add_.Scalar' op writes a tensor that a loop carries, which is argument 0 in some rounds and another in others}}
    %2 = torch.aten.add_.Scalar %a, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor) -> !torch.tensor
  return %0 : !torch.tensor
}

// -----

// As the message says: it starts with a clone.
// CHECK-LABEL: func.func @writes_a_clone
// CHECK: torch.prim.Loop
func.func @writes_a_clone(%x: !torch.tensor, %n: !torch.int) -> !torch.tensor {
  %true = torch.constant.bool true
  %one = torch.constant.int 1
  %none = torch.constant.none
  %c = torch.aten.clone %x, %none : !torch.tensor, !torch.none -> !torch.tensor
  %0 = torch.prim.Loop %n, %true, init(%c) {
  ^bb0(%i: !torch.int, %a: !torch.tensor):
    %1 = torch.aten.add.Scalar %a, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
    %2 = torch.aten.add_.Scalar %a, %one, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%1 : !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor) -> !torch.tensor
  return %0 : !torch.tensor
}

// -----
// It is not the function itself that writes, but one that it calls.
func.func @calls_through(%x: !torch.tensor) {
  // expected-error@below {{calls a function that writes tensors: inline it first}}
  func.call @middle(%x) : (!torch.tensor) -> ()
  return
}
func.func private @middle(%x: !torch.tensor) {
  func.call @overwrites(%x) : (!torch.tensor) -> ()
  return
}
func.func private @overwrites(%x: !torch.tensor) {
  %0 = torch.copy.to_vtensor %x : !torch.vtensor
  torch.overwrite.tensor.contents %0 overwrites %x : !torch.vtensor, !torch.tensor
  return
}

// -----
// What writes nothing may be called, even of a module that writes.
// CHECK-LABEL: func.func @calls_a_reader
// CHECK: call @reads
// CHECK: torch.aten.zero
func.func @calls_a_reader(%x: !torch.tensor) -> !torch.int {
  %0 = func.call @reads(%x) : (!torch.tensor) -> !torch.int
  %1 = torch.aten.zero_ %x : !torch.tensor -> !torch.tensor
  return %0 : !torch.int
}
func.func private @reads(%x: !torch.tensor) -> !torch.int {
  %0 = torch.aten.dim %x : !torch.tensor -> !torch.int
  return %0 : !torch.int
}

// -----
// What is said of the results stays said; of the new contents nothing is.
// CHECK-LABEL: func.func @result_attributes
// CHECK-SAME: -> (!torch.vtensor {tierup.name = "r"}, !torch.vtensor)
func.func @result_attributes(%x: !torch.tensor) -> (!torch.tensor {tierup.name = "r"}) {
  %0 = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
  %1 = torch.aten.zero_ %x : !torch.tensor -> !torch.tensor
  return %0 : !torch.tensor
}

// -----
// A tuple is its items, also where lists change.
// CHECK-LABEL: func.func @tuple_beside_a_list_that_changes
// CHECK-SAME: tierup.result_aliases = ["fresh", "fresh"]
func.func @tuple_beside_a_list_that_changes(%x: !torch.tensor) -> (!torch.tensor, !torch.tensor) {
  %0 = torch.prim.ListConstruct : () -> !torch.list<tensor>
  %1 = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
  %2 = torch.aten.exp %x : !torch.tensor -> !torch.tensor
  %3 = torch.aten.append.t %0, %1 : !torch.list<tensor>, !torch.tensor -> !torch.list<tensor>
  %4 = torch.prim.TupleConstruct %1, %2 : !torch.tensor, !torch.tensor -> !torch.tuple<tensor, tensor>
  %5:2 = torch.prim.TupleUnpack %4 : !torch.tuple<tensor, tensor> -> !torch.tensor, !torch.tensor
  return %5#0, %5#1 : !torch.tensor, !torch.tensor
}

// -----

// The next row reads the one before: items of a dim are the same or apart.
// CHECK-LABEL: func.func @rows(
// CHECK: torch.aten.select_scatter
func.func @rows(%x: !torch.tensor, %i: !torch.int, %j: !torch.int) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %a = torch.aten.select.int %x, %zero, %i : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %b = torch.aten.select.int %x, %zero, %j : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %0 = torch.aten.add_.Tensor %a, %b, %one : !torch.tensor, !torch.tensor, !torch.int -> !torch.tensor
  return
}

// -----

func.func @shifted(%x: !torch.tensor) {
  %zero = torch.constant.int 0
  %one = torch.constant.int 1
  %last = torch.constant.int -1
  %none = torch.constant.none
  %false = torch.constant.bool false
  %a = torch.aten.slice.Tensor %x, %zero, %one, %none, %one : !torch.tensor, !torch.int, !torch.int, !torch.none, !torch.int -> !torch.tensor
  %b = torch.aten.slice.Tensor %x, %zero, %zero, %last, %one : !torch.tensor, !torch.int, !torch.int, !torch.int, !torch.int -> !torch.tensor
  // expected-error@below {{reads the memory that it writes, in part or otherwise: layouts decide whether PyTorch refuses it}}
  %0 = torch.aten.copy_ %a, %b, %false : !torch.tensor, !torch.tensor, !torch.bool -> !torch.tensor
  return
}
