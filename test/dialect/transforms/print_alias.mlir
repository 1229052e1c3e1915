// RUN: tierup-opt %s --tierup-print-alias --split-input-file --verify-diagnostics -o %t
// RUN: tierup-opt %s --split-input-file -o %t.unchanged
// RUN: diff %t %t.unchanged

// expected-remark@+2 {{%arg0 is memory of arguments; written by torch.aten.zero_; returned}}
// expected-remark@+1 {{%arg1 is memory of value arguments}}
func.func @views_and_writes(%x: !torch.tensor, %v: !torch.vtensor, %n: !torch.int) -> !torch.tensor {
  %zero = torch.constant.int 0
  // expected-remark@+1 {{%0 is memory of arguments; written by torch.aten.zero_}}
  %row = torch.aten.select.int %x, %zero, %n : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  // expected-remark@+2 {{%1 is memory of arguments; written by torch.aten.zero_}}
  // expected-remark@+1 {{has side effects}}
  %z = torch.aten.zero_ %row : !torch.tensor -> !torch.tensor
  // expected-remark@+1 {{%2 is memory of %2}}
  %t = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
  // expected-remark@+1 {{%3 is memory of arguments, %3; written by torch.aten.zero_; returned}}
  %c = torch.aten.contiguous %x, %zero : !torch.tensor, !torch.int -> !torch.tensor
  // expected-remark@+1 {{%4 is memory of %4}}
  %u = torch.copy.to_tensor %v : !torch.tensor
  return %c : !torch.tensor
}

// -----
// What is written late in a loop is the same memory in the next round; the loop may also not run.
// expected-remark@+1 {{%arg0 is memory of arguments}}
func.func @loops(%x: !torch.tensor, %n: !torch.int) -> !torch.tensor {
  %true = torch.constant.bool true
  // expected-remark@+1 {{%0 is memory of %0; returned}}
  %a = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
  // expected-remark@+1 {{%1 is memory of %1; written by torch.aten.exp_}}
  %b = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
  // expected-remark@+4 {{%arg3 is memory of %0, %1, %3; written by torch.aten.exp_}}
  // expected-remark@+3 {{%arg4 is memory of %1, %3; written by torch.aten.exp_; returned}}
  // expected-remark@+2 {{%2#0 is memory of %0, %1, %3; written by torch.aten.exp_; returned}}
  // expected-remark@+1 {{%2#1 is memory of %1, %3; written by torch.aten.exp_}}
  %r:2 = torch.prim.Loop %n, %true, init(%a, %b) {
  ^bb0(%i: !torch.int, %p: !torch.tensor, %q: !torch.tensor):
    // expected-remark@+1 {{%3 is memory of %3; written by torch.aten.exp_; returned}}
    %m = torch.aten.matmul %p, %q : !torch.tensor, !torch.tensor -> !torch.tensor
    // expected-remark@+1 {{%4 is memory of %1, %3; written by torch.aten.exp_}}
    %w = torch.aten.exp_ %q : !torch.tensor -> !torch.tensor
    torch.prim.Loop.condition %true, iter(%q, %m : !torch.tensor, !torch.tensor)
  } : (!torch.int, !torch.bool, !torch.tensor, !torch.tensor) -> (!torch.tensor, !torch.tensor)
  return %r#0 : !torch.tensor
}

// -----
// Containers hold what was ever put into them.
// expected-remark@+2 {{%arg0 is memory of arguments; returned}}
// expected-remark@+1 {{%arg1 is memory of container arguments; holds arguments; written by torch.aten.append.t}}
func.func @lists(%x: !torch.tensor, %given: !torch.list<tensor>, %c: !torch.bool, %i: !torch.int) -> !torch.list<tensor> {
  // expected-remark@+1 {{%0 is memory of %0; returned}}
  %t = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
  // expected-remark@+1 {{%1 is memory of %1; holds arguments, %0; written by torch.aten.append.t; returned}}
  %l = torch.prim.ListConstruct %t : (!torch.tensor) -> !torch.list<tensor>
  // expected-remark@+1 {{%2 is memory of container arguments, %1; holds arguments, %0; written by torch.aten.append.t}}
  %either = torch.prim.If %c -> (!torch.list<tensor>) {
    torch.prim.If.yield %l : !torch.list<tensor>
  } else {
    torch.prim.If.yield %given : !torch.list<tensor>
  }
  // expected-remark@+2 {{%3 is memory of container arguments, %1; holds arguments, %0; written by torch.aten.append.t}}
  // expected-remark@+1 {{has side effects}}
  %a = torch.aten.append.t %either, %x : !torch.list<tensor>, !torch.tensor -> !torch.list<tensor>
  // expected-remark@+1 {{%4 is memory of arguments, %0}}
  %item = torch.aten.__getitem__.t %l, %i : !torch.list<tensor>, !torch.int -> !torch.tensor
  // expected-remark@+1 {{%5 is memory of %5; holds arguments, %0}}
  %copy = torch.aten.list.t %l : !torch.list<tensor> -> !torch.list<tensor>
  return %l : !torch.list<tensor>
}

// -----
// Identities, checks and groups hand on what they get; profiles record, guards do not.
// expected-remark@+1 {{%arg0 is memory of value arguments; returned}}
func.func @speculation(%x: !torch.vtensor) -> !torch.vtensor<[2],f32> {
  // expected-remark@+2 {{%0 is memory of value arguments; returned}}
  // expected-remark@+1 {{has side effects}}
  %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
  // expected-remark@+1 {{%1 is memory of value arguments; returned}}
  %1 = "tierup.guard"(%0) {expected = #tierup.profiled<f32[2] defined>} : (!torch.vtensor) -> !torch.vtensor<[2],f32>
  // expected-remark@+1 {{%2#0 is memory of value arguments}}
  %2:2 = "tierup.check"(%0) {expected = [#tierup.profiled<f32[2] defined>]} : (!torch.vtensor) -> (!torch.vtensor<[2],f32>, !torch.bool)
  // expected-remark@+3 {{%arg1 is memory of value arguments; returned}}
  // expected-remark@+2 {{%3#0 is memory of %4}}
  // expected-remark@+1 {{%3#1 is memory of value arguments; returned}}
  %3:2 = "tierup.fusion_group"(%1) ({
  ^bb0(%a: !torch.vtensor<[2],f32>):
    // expected-remark@+1 {{%4 is memory of %4}}
    %4 = torch.aten.tanh %a : !torch.vtensor<[2],f32> -> !torch.vtensor<[2],f32>
    "tierup.yield"(%4, %a) : (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>) -> ()
  }, {}) : (!torch.vtensor<[2],f32>) -> (!torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>)
  // expected-remark@+1 {{has side effects}}
  "tierup.count_run"() : () -> ()
  return %3#1 : !torch.vtensor<[2],f32>
}
